import { OrchestratorError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";

/** `HOST_ERROR` where the machine is no Linux; `what` is the type that works there alone. */
export function requireLinux(host: Host, what: string): void {
  if (host.platform === "linux") return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `A ${what} can be managed on Linux only, not on ${host.platform}.`,
    details: { platform: host.platform },
  });
}
