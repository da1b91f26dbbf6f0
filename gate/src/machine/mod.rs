//! What the daemon uses of this machine's kernel and service manager.

pub(crate) mod fence;
pub(crate) mod interface_queue;
pub(crate) mod netlink;
pub(crate) mod privileges;
pub(crate) mod service;
pub(crate) mod signals;
pub(crate) mod wake;
