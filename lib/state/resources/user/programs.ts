/** Making, changing and removing users with the programs of shadow-utils. */
import { OrchestratorError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { findGroup, findShadow, findUser } from "../shared/accounts.ts";
import { act } from "../shared/command.ts";
import { isSystemFolder } from "../shared/system-folders.ts";
import { wantedPassword } from "./password.ts";
import { createsHome, toExpiresDay, type UserSpec } from "./properties.ts";

type Run = (argv: [string, ...string[]]) => Promise<unknown>;

/** Makes the changes of a `user`. */
export async function applyUser(
  spec: UserSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const run: Run = (argv) => act({ argv }, { host, signal });
  const ensure = changes.find((change) => change.property === "ensure");
  if (spec.ensure === "absent") return removeUser(spec, host, run);
  if (ensure) await makeUser(spec, host, run);
  else await changeUser(spec, changes, run);
  const touchesPassword = changes.some(
    ({ property }) => property === "password_hash" || property === "locked",
  );
  if (!touchesPassword) return;
  const before = findShadow(host, spec.name)?.password ?? "";
  const after = wantedPassword(spec, before);
  if (after === before) return;
  const stdin = `${spec.name}:${after}\n`;
  await act({ argv: ["chpasswd", "-e"], stdin }, { host, signal }, { reads: "secret" });
}

async function makeUser(spec: UserSpec, host: Host, run: Run): Promise<void> {
  const { name, group } = spec;
  if (group !== undefined && spec.group_gid !== undefined && !groupExists(group, host)) {
    await run(["groupadd", "-g", String(spec.group_gid), group]);
  }
  const own = findGroup(host, name) ? ["-g", name] : ["-U"];
  await run([
    "useradd",
    ...option("-u", spec.uid),
    ...(group === undefined ? own : ["-g", group]),
    ...option("-G", spec.groups?.join(",")),
    ...option("-d", spec.home),
    createsHome(spec) ? "-m" : "-M",
    ...option("-s", spec.shell),
    ...option("-c", spec.comment),
    ...option("-e", spec.expires && toExpiresDay(spec.expires)),
    ...(spec.system ? ["-r"] : []),
    name,
  ]);
}

function groupExists(group: string, host: Host): boolean {
  return /^\d+$/.test(group) || findGroup(host, group) !== null;
}

async function changeUser(spec: UserSpec, changes: readonly Change[], run: Run): Promise<void> {
  const options = changes.flatMap(({ property, after }): string[] => {
    if (property === "groups" && Array.isArray(after)) return ["-G", after.join(",")];
    if (property === "expires") return ["-e", toExpiresDay(String(after))];
    const flag = flags[property];
    return flag === undefined ? [] : [flag, String(after)];
  });
  if (options.length > 0) await run(["usermod", ...options, spec.name]);
}

const flags: Readonly<Record<string, string>> = {
  uid: "-u",
  group: "-g",
  home: "-d",
  shell: "-s",
  comment: "-c",
};

/** userdel takes the group of the user's name with it, unless that has a member: root is one for that long. */
async function removeUser(spec: UserSpec, host: Host, run: Run): Promise<void> {
  const { name } = spec;
  const home = findUser(host, name)?.home ?? "";
  if (spec.remove_home && isSystemFolder(home)) {
    throw new OrchestratorError("HOST_ERROR", {
      message: `The home of ${name} is ${home}, which is never removed.`,
      details: { path: home },
    });
  }
  const group = spec.keep_group === true ? findGroup(host, name) : null;
  const guards = group !== null && group.members.every((member) => member === name);
  if (guards) await run(["gpasswd", "-M", "root", name]);
  await run(["userdel", ...(spec.remove_home ? ["-r"] : []), name]);
  if (guards) await run(["gpasswd", "-M", "", name]);
}

function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}
