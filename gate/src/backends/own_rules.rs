//! Rules that vanish with the gate: a table of nft that belongs to a netlink socket
//! (linux/netfilter/nf_tables.h). The kernel removes the table with the socket, no matter how the
//! process ends.

use std::os::fd::{AsRawFd, OwnedFd};

use libc::{
    NF_IP_PRI_MANGLE, NFNL_MSG_BATCH_BEGIN, NFNL_MSG_BATCH_END, NFNL_SUBSYS_NFTABLES, NFPROTO_INET,
    NFPROTO_UNSPEC, NFT_CMP_EQ, NFT_MSG_DELRULE, NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE,
    NFT_MSG_NEWTABLE, NFT_QUEUE_FLAG_BYPASS, NFT_REG_1, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL,
};
use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, recv, send},
};

use crate::{
    Failure,
    backends::rules::{Hook, Rules},
    cli::Fail,
    machine::netlink::{Message, attribute, connect, message, messages, nested},
};

/// Numbers of attributes and flags that libc does not have: `NFTA_...`, `NFT_TABLE_F_OWNER`.
const TABLE_NAME: i32 = 1;
const TABLE_FLAGS: i32 = 2;
const TABLE_F_OWNER: u32 = 2;
const CHAIN_TABLE: i32 = 1;
const CHAIN_NAME: i32 = 3;
const CHAIN_HOOK: i32 = 4;
const CHAIN_TYPE: i32 = 7;
const HOOK_HOOKNUM: i32 = 1;
const HOOK_PRIORITY: i32 = 2;
const RULE_TABLE: i32 = 1;
const RULE_CHAIN: i32 = 2;
const RULE_EXPRESSIONS: i32 = 4;
const LIST_ELEM: i32 = 1;
const EXPR_NAME: i32 = 1;
const EXPR_DATA: i32 = 2;
const META_DREG: i32 = 1;
const META_KEY: i32 = 2;
const CMP_SREG: i32 = 1;
const CMP_OP: i32 = 2;
const CMP_DATA: i32 = 3;
const DATA_VALUE: i32 = 1;
const QUEUE_NUM: i32 = 1;
const QUEUE_TOTAL: i32 = 2;
const QUEUE_FLAGS: i32 = 3;

/// Rules of nft that exist as long as this value.
pub struct OwnRules {
    socket: OwnedFd,
    table: String,
    chains: Vec<&'static str>,
}

impl OwnRules {
    /// Sets the rules that `sluiced rules --tool nft` would set.
    ///
    /// # Errors
    /// If the rules are to fail closed, if there are rules already, or if the kernel refuses.
    pub fn set(rules: &Rules) -> Result<Self, Failure> {
        let interface = &rules.interface;
        if rules.fail == Fail::Closed {
            return Err(Failure(format!(
                "--rules {interface}: rules that vanish with the gate let packets pass, so they \
                 cannot be had with --fail closed: set them by {}",
                rules.command("--install")
            )));
        }
        let others = [Fail::Open, Fail::Closed].map(|fail| Rules {
            fail,
            ..rules.clone()
        });
        if others
            .iter()
            .any(|others| others.are_installed() == Some(true))
        {
            return Err(there_already(rules));
        }
        let table = rules.table();
        let own = Self {
            socket: connect().map_err(|error| refused(rules, error))?,
            chains: rules.hooks().into_iter().map(|hook| hook.name).collect(),
            table,
        };
        own.make(rules).map_err(|error| refused(rules, error))?;
        Ok(own)
    }

    fn make(&self, rules: &Rules) -> Result<(), Errno> {
        let new = NLM_F_CREATE | NLM_F_EXCL;
        let mut batch = vec![order(NFT_MSG_NEWTABLE, new, |out| {
            text(out, TABLE_NAME, &self.table);
            number(out, TABLE_FLAGS, TABLE_F_OWNER);
        })];
        for hook in rules.hooks() {
            batch.push(order(NFT_MSG_NEWCHAIN, new, |out| {
                text(out, CHAIN_TABLE, &self.table);
                text(out, CHAIN_NAME, hook.name);
                text(out, CHAIN_TYPE, "filter");
                nested(out, CHAIN_HOOK, |out| {
                    number(out, HOOK_HOOKNUM, hook.number as u32);
                    number(out, HOOK_PRIORITY, NF_IP_PRI_MANGLE as u32);
                });
            }));
            batch.push(order(NFT_MSG_NEWRULE, NLM_F_CREATE, |out| {
                text(out, RULE_TABLE, &self.table);
                text(out, RULE_CHAIN, hook.name);
                nested(out, RULE_EXPRESSIONS, |out| {
                    expressions(out, &rules.interface, &hook);
                });
            }));
        }
        self.commit(&batch)
    }

    /// Removes the rules from their chains, so that no more packets come. The chains stay until the
    /// end, because the kernel drops the packets it holds when a chain is deleted.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn empty(&self) -> Result<(), Errno> {
        let chains = self.chains.iter();
        let batch: Vec<_> = chains
            .map(|chain| {
                order(NFT_MSG_DELRULE, 0, |out| {
                    text(out, RULE_TABLE, &self.table);
                    text(out, RULE_CHAIN, chain);
                })
            })
            .collect();
        self.commit(&batch)
    }

    /// Commits orders, all or none; waits for the answer to each.
    fn commit(&self, orders: &[Vec<u8>]) -> Result<(), Errno> {
        let mut batch = bound(NFNL_MSG_BATCH_BEGIN);
        batch.extend(orders.concat());
        batch.extend(bound(NFNL_MSG_BATCH_END));
        send(self.socket.as_raw_fd(), &batch, MsgFlags::empty())?;
        let mut answered = 0;
        let mut buffer = [0; 4096];
        while answered < orders.len() {
            let length = recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for message in messages(&buffer[..length]) {
                match message {
                    Message::Answer(0, _) => answered += 1,
                    Message::Answer(error, _) => return Err(Errno::from_raw(error)),
                    Message::Queue(..) => {}
                }
            }
        }
        Ok(())
    }
}

/// Returns one order for nft.
fn order(kind: i32, flags: i32, attributes: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    let kind = NFNL_SUBSYS_NFTABLES << 8 | kind;
    message(
        &mut out,
        kind,
        flags | NLM_F_ACK,
        NFPROTO_INET,
        0,
        attributes,
    );
    out
}

/// Returns the message that begins or ends a batch for nft.
fn bound(kind: i32) -> Vec<u8> {
    let mut out = Vec::new();
    message(
        &mut out,
        kind,
        0,
        NFPROTO_UNSPEC,
        NFNL_SUBSYS_NFTABLES as u16,
        |_| (),
    );
    out
}

/// Writes the expressions of a rule: packets of the interface go to the queue, or on if no program
/// has it.
fn expressions(out: &mut Vec<u8>, interface: &str, hook: &Hook) {
    expression(out, "meta", |out| {
        number(out, META_DREG, NFT_REG_1 as u32);
        number(out, META_KEY, hook.meta as u32);
    });
    expression(out, "cmp", |out| {
        number(out, CMP_SREG, NFT_REG_1 as u32);
        number(out, CMP_OP, NFT_CMP_EQ as u32);
        let mut name = interface.as_bytes().to_vec();
        name.resize(libc::IFNAMSIZ, 0);
        nested(out, CMP_DATA, |out| attribute(out, DATA_VALUE, &name));
    });
    expression(out, "queue", |out| {
        attribute(out, QUEUE_NUM, &hook.queue.to_be_bytes());
        attribute(out, QUEUE_TOTAL, &1u16.to_be_bytes());
        let flags = NFT_QUEUE_FLAG_BYPASS as u16;
        attribute(out, QUEUE_FLAGS, &flags.to_be_bytes());
    });
}

fn expression(out: &mut Vec<u8>, name: &str, data: impl FnOnce(&mut Vec<u8>)) {
    nested(out, LIST_ELEM, |out| {
        text(out, EXPR_NAME, name);
        nested(out, EXPR_DATA, data);
    });
}

fn text(out: &mut Vec<u8>, kind: i32, text: &str) {
    attribute(out, kind, &[text.as_bytes(), &[0]].concat());
}

fn number(out: &mut Vec<u8>, kind: i32, number: u32) {
    attribute(out, kind, &number.to_be_bytes());
}

fn there_already(rules: &Rules) -> Failure {
    let (interface, command) = (&rules.interface, rules.command("--remove"));
    Failure(format!(
        "--rules {interface}: packets of {interface} go to queue {} already: leave --rules out, or \
         take the rules away by {command}",
        rules.queue
    ))
}

fn refused(rules: &Rules, error: Errno) -> Failure {
    match error {
        Errno::EEXIST => there_already(rules),
        error => Failure(format!(
            "--rules {}: the kernel says {}: it takes Linux 5.12 with nft's queue \
             (CONFIG_NFT_QUEUE); without it, set rules by {}",
            rules.interface,
            error.desc(),
            rules.command("--install")
        )),
    }
}
