//! What client-go is: requests, reflectors, informers, work queues, leader election, events.
