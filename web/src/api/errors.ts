/** Errors as a person reads them. */
import { Code, ConnectError } from "@connectrpc/connect";
import { asked } from "./credentials";
import { t } from "../i18n";

/** Says what happened and what to do: the service's own words where it gave some. */
export function explained(error: unknown): string {
  const found = ConnectError.from(error);
  switch (found.code) {
    case Code.Unavailable:
    case Code.Unknown:
    case Code.Internal:
      // A browser that cannot reach the server has no words that help anybody.
      return found.rawMessage && !/fetch|network|load failed/i.test(found.rawMessage)
        ? found.rawMessage
        : t().errors.unreachable;
    case Code.ResourceExhausted:
      return `${t().errors.busy} ${found.rawMessage}`.trim();
    case Code.PermissionDenied:
      return t().errors.forbidden;
    case Code.Unauthenticated:
      asked.value = true;
      return t().errors.signedOut;
    default:
      return found.rawMessage || t().errors.unreachable;
  }
}

export function isNotFound(error: unknown): boolean {
  return ConnectError.from(error).code === Code.NotFound;
}

/** Whether the connection broke, and trying again is worth while. */
export function isPassing(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.Unavailable || code === Code.Unknown || code === Code.Internal || code === Code.Aborted;
}
