//! Tables of the checks.
