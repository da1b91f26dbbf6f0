//! Prints the JSON Schema of scenarios.

fn main() {
    print!("{}", sluice_scenario::schema());
}
