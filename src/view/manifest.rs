//! What became of the editor's text.

use crate::ObjectRef;
use serde::{Deserialize, Serialize};

/// What to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ManifestAction {
    /// Nothing: read it strictly, default and validate as the server would, without touching the cluster. The page
    /// asks while the reader types.
    #[default]
    Check,
    /// `kubectl apply -f -`.
    Apply,
    /// `kubectl diff -f -`.
    Diff,
    /// `kubectl delete -f -`.
    Delete,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ManifestResult {
    /// Of the request.
    pub id: u32,
    /// What was asked.
    pub action: ManifestAction,
    /// A document each, in the text's order; those after a syntax error are missing.
    pub documents: Vec<DocumentResult>,
    /// Everything that is wrong, in the order of lines.
    pub problems: Vec<Problem>,
    /// kubectl's standard output (for Diff: the diff).
    pub stdout: String,
    /// kubectl's standard error.
    pub stderr: String,
    /// kubectl's exit code.
    pub code: u8,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DocumentResult {
    /// `apps/v1`.
    pub api_version: String,
    /// What it names.
    pub object: ObjectRef,
    /// Its first line, from 1.
    pub line: u32,
    /// What happened.
    pub outcome: Outcome,
}

/// What happened to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Outcome {
    /// Checked and found good.
    #[default]
    Valid,
    /// Made.
    Created,
    /// Changed.
    Configured,
    /// As it was.
    Unchanged,
    /// Deleted.
    Deleted,
    /// Refused; see the problems.
    Refused,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Problem {
    /// Line, from 1; 0 when it belongs to no place (the API can't be reached).
    pub line: u32,
    /// First column, from 1, counted in characters; 0 for the whole line.
    pub column: u32,
    /// Column after the last; 0 for the end of the line.
    pub end_column: u32,
    /// In kubectl's or the server's own words: `strict decoding error: unknown field "spec.replica"`.
    pub message: String,
    /// What the text at this place probably should be, where one field's name is close: `replicas`.
    pub suggestion: Option<String>,
}
