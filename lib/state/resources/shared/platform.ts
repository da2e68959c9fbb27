import { OrchestratorError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";

/**
 * `HOST_ERROR` where a root folder stands for the machine: what is looked at would be there, and what is changed on the
 * machine itself. `what` is the type or the program.
 */
export function refuseConfined(host: Host, what: string): void {
  if (!host.isConfined) return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${what} can't be used with --root: it acts on the whole machine.`,
    details: { what },
  });
}

/** `HOST_ERROR` where the machine is no Linux; `what` is the type that works there alone. */
export function requireLinux(host: Host, what: string): void {
  if (host.platform === "linux") return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `A ${what} can be managed on Linux only, not on ${host.platform}.`,
    details: { platform: host.platform },
  });
}
