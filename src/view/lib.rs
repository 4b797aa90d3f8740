//! Plain data that passes between the world and the page.
