//! What a component's `transport` says, in this crate's words. Both are made of the same WIT, as an export and
//! as an import.

use crate::Failure;
use crate::bindings::http::exports::noreplay::mcp::transport as told;
use crate::transport::{Arrival, Delivery, Incoming, LostAnswer, Outgoing, Oversized, SendError};

pub(super) fn outgoing(message: Outgoing) -> told::Outgoing {
    let Outgoing { message, method, request, protocol_version, headers } = message;
    told::Outgoing { message, method, request, protocol_version, headers }
}

pub(super) fn sent(sent: Result<told::Delivery, told::SendError>) -> Result<Delivery, SendError> {
    match sent {
        Ok(told::Delivery::HandedOver) => Ok(Delivery::HandedOver),
        Ok(told::Delivery::Accepted) => Ok(Delivery::Accepted),
        Err(told::SendError::NotSent(failure)) => Err(SendError::NotSent(failure)),
        Err(told::SendError::Truncated(failure)) => Err(SendError::Truncated(failure)),
        Err(told::SendError::Refused(refusal)) => Err(SendError::Refused(refusal)),
        Err(told::SendError::Unknown(failure)) => Err(SendError::Unknown(failure)),
    }
}

/// None: the connection is open.
pub(super) fn received(received: Result<told::Incoming, Failure>) -> Option<Result<Incoming, Failure>> {
    Some(match received {
        Ok(told::Incoming::Opened) => return None,
        Ok(told::Incoming::Message(told::Arrival { message, channel })) => {
            Ok(Incoming::Message(Arrival { message, channel }))
        }
        Ok(told::Incoming::TooLarge(told::Oversized { head, tail, size, channel })) => {
            Ok(Incoming::TooLarge(Oversized { head, tail, size, channel }))
        }
        Ok(told::Incoming::AnswerLost(told::LostAnswer { request, failure })) => {
            Ok(Incoming::AnswerLost(LostAnswer { request, failure }))
        }
        Ok(told::Incoming::End) => Ok(Incoming::End),
        Err(failure) => Err(failure),
    })
}
