//! `transom explain`.

use clap::Args;

use super::OutputFormat;

/// Flags of `transom explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// Codes (WIN101, win101) or names (run-as-user)
    #[arg(value_name = "RULE", required = true)]
    pub rules: Vec<String>,

    /// How the rules are printed
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: OutputFormat,
}
