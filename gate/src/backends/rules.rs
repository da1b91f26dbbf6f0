//! `sluiced rules`: the firewall rules that hand packets to the gate.
//!
//! Packets that leave by an interface go to one queue, packets that enter by it to the next one.
//! nft sets the rules if the kernel supports it, else iptables.

use std::{
    io::Write,
    process::{Output, Stdio},
};

use crate::{
    Failure,
    cli::{Fail, RulesOptions, Tool},
    command, print, program, say,
};

/// Which packets go to which queue.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Name of the interface.
    pub interface: String,
    /// Number of the queue for packets that leave by it.
    pub queue: u16,
    /// True if packets that enter by it go to the next queue.
    pub both_ways: bool,
    /// What the kernel does with packets while no program takes them.
    pub fail: Fail,
}

/// A hook of netfilter, from which packets go to one queue.
pub struct Hook {
    /// Its name in nft.
    pub name: &'static str,
    /// Its number in the kernel.
    pub number: i32,
    /// The packet's property that nft compares with the interface.
    pub meta: i32,
    /// The words of nft and of iptables for that property.
    end: [&'static str; 2],
    /// Number of the queue.
    pub queue: u16,
}

/// Runs the command.
///
/// # Errors
/// If there is no program that sets rules, or if it refuses.
pub fn run(options: &RulesOptions) -> Result<(), Failure> {
    let rules = Rules::of(options);
    let tool = match options.tool {
        Some(tool) => tool,
        None => rules.find_tool()?.ok_or_else(|| {
            Failure(
                "whether nft can set these rules is told to root only: say this as root, or which \
                 rules you mean: --tool nft or --tool iptables"
                    .into(),
            )
        })?,
    };
    if nix::net::if_::if_nametoindex(&*rules.interface).is_err() {
        say(&format!(
            "there is no interface {} here now: the rules hold for one that comes under this name; \
             see ip link",
            rules.interface
        ));
    }
    if !(options.install || options.remove) {
        return print(&format!(
            "# nothing is changed: --install sets these rules, --remove takes them away\n{}",
            rules.text(tool)
        ));
    }
    match tool {
        Tool::Nft if options.install => rules.nft(&rules.nft_script())?,
        Tool::Nft => rules.nft(&format!("delete table inet {}\n", rules.table()))?,
        Tool::Iptables => rules.change(if options.install { "-A" } else { "-D" })?,
    }
    Ok(())
}

impl Rules {
    fn of(options: &RulesOptions) -> Self {
        Self {
            interface: options.interface.clone(),
            queue: options.queue,
            both_ways: options.both_ways,
            fail: options.fail,
        }
    }

    /// Returns nft if the kernel accepts its rules, else iptables if it is installed. `None` if nft
    /// is not permitted to ask the kernel.
    ///
    /// # Errors
    /// If neither is available.
    pub fn find_tool(&self) -> Result<Option<Tool>, Failure> {
        // use a chain without a hook: even a check of a chain with a hook makes the kernel drop the
        // packets it holds
        let probe = "table inet sluiced_probe { chain probe { queue num 0; }; }";
        let tried = self.try_nft(&["--check"], probe);
        if tried.as_ref().is_ok_and(is_forbidden) {
            return Ok(None);
        }
        let refused = match succeeded("nft", tried) {
            Ok(()) => return Ok(Some(Tool::Nft)),
            Err(Failure(what)) => what,
        };
        if command("iptables").arg("--version").output().is_ok() {
            return Ok(Some(Tool::Iptables));
        }
        Err(Failure(format!(
            "{refused}; and there is no iptables: install one of them (Debian, Ubuntu: apt install \
             nftables iptables)"
        )))
    }

    /// Returns the name of the nft table.
    pub fn table(&self) -> String {
        format!("sluiced_{}", self.queue)
    }

    /// Returns the hooks at which packets are taken.
    pub fn hooks(&self) -> Vec<Hook> {
        let mut hooks = vec![Hook {
            name: "postrouting",
            number: libc::NF_INET_POST_ROUTING,
            meta: libc::NFT_META_OIFNAME,
            end: ["oifname", "-o"],
            queue: self.queue,
        }];
        if self.both_ways {
            hooks.push(Hook {
                name: "prerouting",
                number: libc::NF_INET_PRE_ROUTING,
                meta: libc::NFT_META_IIFNAME,
                end: ["iifname", "-i"],
                queue: self.queue + 1,
            });
        }
        hooks
    }

    /// Returns a script that replaces all earlier rules of ours. It keeps the chains: when a chain
    /// is deleted, the kernel drops the packets held in all queues (`nf_queue_nf_hook_drop`).
    fn nft_script(&self) -> String {
        let table = self.table();
        let mut script = format!("table inet {table}\nflush table inet {table}\n");
        script += &format!("table inet {table} {{\n");
        for hook in self.hooks() {
            let (name, [end, _], queue) = (hook.name, hook.end, hook.queue);
            let bypass = if self.fail == Fail::Open {
                " bypass"
            } else {
                ""
            };
            script += &format!(
                "\tchain {name} {{\n\t\ttype filter hook {name} priority mangle; policy accept;\n\
                 \t\t{end} \"{}\" queue num {queue}{bypass}\n\t}}\n",
                self.interface
            );
        }
        script + "}\n"
    }

    /// Returns the commands of iptables; `action` is `-A`, `-C` or `-D`.
    fn commands(&self, action: &str) -> Vec<Vec<String>> {
        let mut commands = Vec::new();
        for program in ["iptables", "ip6tables"] {
            for hook in self.hooks() {
                let (chain, queue) = (hook.name.to_uppercase(), hook.queue.to_string());
                let [_, end] = hook.end;
                let mut command = vec![program, "-t", "mangle", action, &chain, end];
                command.extend([&*self.interface, "-j", "NFQUEUE", "--queue-num", &queue]);
                command.extend((self.fail == Fail::Open).then_some("--queue-bypass"));
                commands.push(command.into_iter().map(str::to_owned).collect());
            }
        }
        commands
    }

    fn text(&self, tool: Tool) -> String {
        match tool {
            Tool::Nft => self.nft_script(),
            Tool::Iptables => {
                let lines = self.commands("-A").into_iter();
                lines.map(|command| command.join(" ") + "\n").collect()
            }
        }
    }

    fn nft(&self, script: &str) -> Result<(), Failure> {
        let tried = self.try_nft(&[], script);
        if tried.as_ref().is_ok_and(is_forbidden) && self.are_installed() == Some(true) {
            return Err(Failure(format!(
                "the rules of queue {} are those of a gate that runs (sluiced run --rules), and go \
                 as it ends",
                self.queue
            )));
        }
        succeeded("nft", tried)
    }

    fn try_nft(&self, options: &[&str], script: &str) -> std::io::Result<Output> {
        let mut nft = command("nft");
        nft.args(options).args(["-f", "-"]);
        nft.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                let mut input = child.stdin.take().expect("it is piped");
                input.write_all(script.as_bytes())?;
                drop(input);
                child.wait_with_output()
            })
    }

    /// Adds all rules that are missing, or removes all that exist. If one is refused, those added
    /// before it are removed again: a rule that fails closed would drop packets that no gate takes.
    fn change(&self, action: &str) -> Result<(), Failure> {
        let mut undo: Vec<Vec<String>> = Vec::new();
        let commands = self.commands(action).into_iter().zip(self.commands("-D"));
        for (there, (command, inverse)) in self.commands("-C").iter().zip(commands) {
            let is_there = execute(there).is_ok();
            if is_there == (action == "-A") {
                continue;
            }
            if let Err(refused) = execute(&command) {
                for inverse in &undo {
                    execute(inverse).ok();
                }
                return Err(refused);
            }
            if action == "-A" {
                undo.push(inverse);
            }
        }
        Ok(())
    }

    /// True if the kernel has the rules; `None` if it may not be asked.
    pub fn are_installed(&self) -> Option<bool> {
        let table = ["nft", "list", "table", "inet", &self.table()].map(str::to_owned);
        let table = attempt(&table);
        if table.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(true);
        }
        let asked: Vec<_> = self.commands("-C").iter().map(|it| attempt(it)).collect();
        if [&table]
            .into_iter()
            .chain(&asked)
            .flatten()
            .any(is_forbidden)
        {
            return None;
        }
        let is_there = |output: &Output| output.status.success();
        Some(asked.iter().all(|asked| asked.as_ref().is_ok_and(is_there)))
    }

    /// Returns the command that installs or removes the rules.
    pub fn command(&self, action: &str) -> String {
        let fail = match self.fail {
            Fail::Open => "open",
            Fail::Closed => "closed",
        };
        let both = if self.both_ways { " --both-ways" } else { "" };
        format!(
            "sudo {} rules --interface {} --queue {} --fail {fail}{both} {action}",
            program(),
            self.interface,
            self.queue
        )
    }
}

fn attempt(words: &[String]) -> std::io::Result<Output> {
    command(&words[0]).args(&words[1..]).output()
}

fn execute(command: &[String]) -> Result<(), Failure> {
    succeeded(&command[0], attempt(command))
}

/// True if a program failed because it may not ask the kernel. That needs root: the capabilities
/// that `sluiced` has by setcap do not pass to the programs that it starts.
fn is_forbidden(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    let words = ["Operation not permitted", "Permission denied"];
    !output.status.success() && words.iter().any(|words| said.contains(words))
}

/// Returns an error with the message of a program if it failed.
fn succeeded(program: &str, output: std::io::Result<Output>) -> Result<(), Failure> {
    let output = output.map_err(|error| Failure(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it failed").to_owned();
    Err(Failure(format!("{program}: {first}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(both_ways: bool, fail: Fail) -> Rules {
        Rules {
            interface: "eth0".into(),
            queue: 4,
            both_ways,
            fail,
        }
    }

    #[test]
    fn each_direction_has_its_queue() {
        let text = rules(true, Fail::Closed).text(Tool::Iptables);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "iptables -t mangle -A POSTROUTING -o eth0 -j NFQUEUE --queue-num 4",
                "iptables -t mangle -A PREROUTING -i eth0 -j NFQUEUE --queue-num 5",
            ]
        );
        assert_eq!(lines.len(), 4);
        assert!(lines[2].starts_with("ip6tables "));
    }

    #[test]
    fn packets_pass_an_absent_gate_only_if_it_fails_open() {
        for tool in [Tool::Nft, Tool::Iptables] {
            assert!(rules(false, Fail::Open).text(tool).contains("bypass"));
            assert!(!rules(false, Fail::Closed).text(tool).contains("bypass"));
        }
    }
}
