/** Numbers that a user may give to others in namespaces: ranges in /etc/subuid and /etc/subgid, which go with the user. */
import type { Host } from "../../../host/host.ts";
import { readTable } from "../shared/accounts.ts";

/** Ranges, each "first:count", in the order of the files. */
export interface Subordinates {
  uids: string[];
  gids: string[];
}

/** The ranges of a user. */
export function subordinatesOf(name: string, host: Host): Subordinates {
  const rangesIn = (path: string): string[] =>
    readTable(host, path).flatMap(([user, first, count]) => (user === name ? [`${first}:${count}`] : []));
  return { uids: rangesIn("/etc/subuid"), gids: rangesIn("/etc/subgid") };
}

/** The options of usermod(8) that make the ranges of a user those that are wanted, in their order: what is added comes last. */
export function subordinateOptions(before: Subordinates, after: Subordinates): string[] {
  const optionsOf = (kind: keyof Subordinates, [remove, add]: [string, string]): string[] => {
    const [found, wanted] = [before[kind], after[kind]];
    const differs = found.findIndex((range, at) => range !== wanted[at]);
    const same = differs === -1 ? found.length : differs;
    return [
      ...found.slice(same).flatMap((range) => [remove, toSpan(range)]),
      ...wanted.slice(same).flatMap((range) => [add, toSpan(range)]),
    ];
  };
  return [...optionsOf("uids", ["-V", "-v"]), ...optionsOf("gids", ["-W", "-w"])];
}

function toSpan(range: string): string {
  const [first = 0, count = 0] = range.split(":").map(Number);
  return `${first}-${first + count - 1}`;
}
