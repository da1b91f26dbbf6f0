//! TCP endpoints without a network: senders and receivers as pure state machines.
