import type { HostCommand } from "../../host/host.ts";

/** What of a command may name an account, a path or a file. */
export function wordsOf({ argv, user, cwd, opens = {}, stdin = "" }: HostCommand): string[] {
  const text = [...argv, user ?? "", cwd ?? "", ...Object.values(opens), stdin].join(" ");
  return [...new Set(text.split(/[^\w./@+-]+/))].filter((word) => word !== "");
}
