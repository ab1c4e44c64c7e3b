//! Tokens and sessions. 詳しくは README を見る。
#![allow(dead_code)]

use std::collections::HashMap;
use crate::auth::{self, token::Token};
use super::store as backing;
pub mod wire; use {serde::de, log};

/// Most tries of a login.
pub const LIMIT: u32 = 3;
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// What went wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Failure {
    Expired,
    Denied { reason: String },
}

/// 利用者のセッション。二文目。
pub struct Session<'a, T: Clone> {
    user: &'a str,
    data: HashMap<String, T>,
}

impl<'a, T: Clone> Session<'a, T> {
    pub const VERSION: u8 = 2;

    /// Opens one. Never fails.
    #[must_use]
    pub fn open(user: &'a str) -> Self {
        fn check(user: &str) -> bool {
            let local = 1;
            !user.is_empty()
        }
        todo!()
    }
}

impl<'a, T: Clone> fmt::Display for Session<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.user)
    }
}

pub trait Store {
    type Key;
    fn get(&self, key: &Self::Key) -> Option<String>;
    /// Clears it.
    fn clear(&mut self) {}
}

pub type Shared<T> = std::sync::Arc<T>;

/// Builds a map.
macro_rules! map {
    ($($k:expr => $v:expr),*) => { todo!() };
}

mod inner {
    pub fn 挨拶() -> &'static str { "こんにちは" }
}

extern "C" {
    fn c_hash(data: *const u8) -> u64;
}
