//! Scenarios of networks: who sends what to whom over which links.

mod distribution;
mod flows;
mod links;
mod notes;
mod scenario;
mod tcp;
mod topology;

pub use distribution::{
    Constant, Distribution, Exponential, Fgn, Pareto, SelfSimilar, SizeKind, Sizes, Uniform,
};
pub use flows::{
    DatagramFlows, Flows, GapKind, ReplayFlows, Shared, ShortTcpFlows, TcpFlows, WebFlows,
};
pub use links::LinkSettings;
pub use scenario::NetworkScenario;
pub(crate) use tcp::names as tcp_names;
pub use tcp::{Like, Tcp, Variant};
pub use topology::{Dumbbell, Graph, Link, Pair, ParkingLot, Route, SimplexLink, Star, Topology};
