/** Errors as a person reads them. */
import { Code, ConnectError } from "@connectrpc/connect";
import { asked } from "./credentials";
import { reasonSaid } from "../i18n/reasons";
import { clock, t } from "../i18n";

/** What the service says of a fault beside its words. */
interface Details { reason: string; retrySeconds: number }

/** Says what happened and what to do: the service's own words where it gave some. */
export function explained(error: unknown): string {
  const found = ConnectError.from(error);
  switch (found.code) {
    case Code.Unavailable:
    case Code.Unknown:
    case Code.Internal:
      // A browser that cannot reach the server has no words that help anybody.
      return detailsOf(found).reason ? reasonSaid(detailsOf(found).reason, found.rawMessage) : t().errors.unreachable;
    case Code.ResourceExhausted: {
      const { reason, retrySeconds } = detailsOf(found);
      return reason === "DAILY_LIMIT" ? dailyLimit(retrySeconds) : t().errors.busy;
    }
    case Code.PermissionDenied:
      return t().errors.forbidden;
    case Code.Unauthenticated:
      asked.value = true;
      return t().errors.signedOut;
    default:
      return reasonSaid(detailsOf(found).reason, found.rawMessage) || t().errors.unreachable;
  }
}

/** Says of a fault that is kept or streamed what `explained` says of a call's. */
export function told(reason: string, message: string): string {
  return reason === "DAILY_LIMIT" ? dailyLimit(0) : reason === "RESOURCE_EXHAUSTED" ? t().errors.busy : reasonSaid(reason, message);
}

function dailyLimit(retrySeconds: number): string {
  return t().errors.daily(retrySeconds ? t().errors.at(clock(retrySeconds)) : t().errors.tomorrow);
}

/** The details come as JSON beside their binary form, so that the page needs no contract of theirs. */
function detailsOf(error: ConnectError): Details {
  const found = { reason: "", retrySeconds: 0 };
  for (const detail of error.details) {
    const shown = ("debug" in detail ? detail.debug : undefined) as { reason?: string; retryDelay?: string } | undefined;
    found.reason ||= shown?.reason ?? "";
    found.retrySeconds ||= Number.parseFloat(shown?.retryDelay ?? "") || 0;
  }
  return found;
}

export function isNotFound(error: unknown): boolean {
  return ConnectError.from(error).code === Code.NotFound;
}

/** Whether the connection broke, and trying again is worth while. */
export function isPassing(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.Unavailable || code === Code.Unknown || code === Code.Internal || code === Code.Aborted;
}
