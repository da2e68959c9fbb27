/** A machine on which somebody else acts right before a call of ours. */
import type { Host, HostBackups, HostFiles } from "../../lib/host/host.ts";

/** Which call of files or backups, guarded or not. */
export interface RacedCall {
  name: string;
  /** How its first argument ends. Default: anyhow. */
  path?: string;
  /** Which of these calls, from 1. Default: the first. */
  nth?: number;
}

/** Has `act` happen once, before such a call. */
export function raceBefore(
  host: Host,
  call: RacedCall,
  act: () => void,
): { host: Host; hasRaced: () => boolean } {
  let calls = 0;
  const { nth = 1 } = call;
  const wrap = <Part extends HostFiles | HostBackups>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (name === "below") return wrap(Reflect.apply(member, target, args) as Part);
          if (name === call.name && String(args[0]).endsWith(call.path ?? "")) {
            calls += 1;
            if (calls === nth) act();
          }
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
  const racing: Host = {
    platform: host.platform,
    isConfined: host.isConfined,
    mark: host.mark,
    ...(host.workFolder && { workFolder: host.workFolder }),
    ...(host.ownProcess && { ownProcess: host.ownProcess.bind(host) }),
    users: host.users,
    files: wrap(host.files),
    backups: wrap(host.backups),
    sha256: (content) => host.sha256(content),
    run: (command, signal) => host.run(command, signal),
    download: (request, signal) => host.download(request, signal),
    barrier: () => host.barrier(),
  };
  return { host: racing, hasRaced: () => calls >= nth };
}
