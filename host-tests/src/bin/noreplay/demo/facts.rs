//! What the demonstration claims, checked against what happened.

use host_tests::Outcome;
use host_tests::ledger::LedgerServer;

use super::Scene;

/// Claims, and whether each is true.
pub(super) struct Facts {
    claims: Vec<(&'static str, bool)>,
}

impl Facts {
    pub(super) fn of(server: &LedgerServer, scenes: &[Scene; 2]) -> Facts {
        let [pay, balance] = scenes;
        let wire = server.wire();
        let reconnect = ["initialize", "notifications/initialized", "tools/call"];
        let claims = vec![
            ("the charge was made, once, though nobody was told", pay.charges == 1),
            (
                "its call came back as unknown-outcome, neither failed nor repeated",
                matches!(pay.verdict, Ok(Outcome::UnknownOutcome(_))) && wire.calls("pay") == 1,
            ),
            (
                "the next call reconnected by itself, with the handshake and nothing else",
                wire.connects() == 2 && wire.methods(2) == reconnect,
            ),
            (
                "it was answered, and the ledger still holds one charge",
                matches!(balance.verdict, Ok(Outcome::Ok(_))) && balance.charges == 1,
            ),
            ("the server saw nothing that a client must not do", server.violations().is_empty()),
        ];
        Facts { claims }
    }

    pub(super) fn claims(&self) -> &[(&'static str, bool)] {
        &self.claims
    }

    /// Whether all of them are true.
    pub(super) fn hold(&self) -> bool {
        self.claims.iter().all(|(_, holds)| *holds)
    }
}
