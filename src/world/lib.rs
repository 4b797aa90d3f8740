//! The wiring: blueprint, boot, faults, inputs, views.
