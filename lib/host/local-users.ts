import { readFileSync } from "node:fs";
import type { HostUsers } from "./host.ts";
import { errnoOf, hostError } from "./host-error.ts";

/** How long a table is believed, milliseconds: a run over thousands of files reads it once, a new user is seen at once after. */
const freshMs = 1000;

/** An account as a program needs it. */
export interface LocalAccount {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** Users and groups from the files that name them. */
export class LocalUsers implements HostUsers {
  #accounts: { readAtMs: number; list: LocalAccount[] } | null = null;
  #groups: { readAtMs: number; list: { name: string; gid: number }[] } | null = null;

  userId(name: string): number | null {
    return this.account(name)?.uid ?? null;
  }

  groupId(name: string): number | null {
    return this.#groupList().find((group) => group.name === name)?.gid ?? null;
  }

  userName(uid: number): string | null {
    return this.#accountList().find((account) => account.uid === uid)?.name ?? null;
  }

  groupName(gid: number): string | null {
    return this.#groupList().find((group) => group.gid === gid)?.name ?? null;
  }

  /** The whole account of a user, by name or by number in digits. */
  account(name: string): LocalAccount | null {
    const uid = /^\d+$/.test(name) ? Number(name) : null;
    const found = this.#accountList().find((account) => account.name === name || account.uid === uid);
    return found ?? null;
  }

  /** Looks again at the next question: a program that ran may have made users. */
  forget(): void {
    this.#accounts = null;
    this.#groups = null;
  }

  #accountList(): LocalAccount[] {
    const nowMs = performance.now();
    if (this.#accounts === null || nowMs - this.#accounts.readAtMs > freshMs) {
      const list = readTable("/etc/passwd", ([name = "", , uid, gid, , home = "/"]) => ({
        name,
        uid: Number(uid),
        gid: Number(gid),
        home,
      }));
      this.#accounts = { readAtMs: nowMs, list };
    }
    return this.#accounts.list;
  }

  #groupList(): { name: string; gid: number }[] {
    const nowMs = performance.now();
    if (this.#groups === null || nowMs - this.#groups.readAtMs > freshMs) {
      const list = readTable("/etc/group", ([name = "", , gid]) => ({ name, gid: Number(gid) }));
      this.#groups = { readAtMs: nowMs, list };
    }
    return this.#groups.list;
  }
}

function readTable<T>(path: string, toEntry: (fields: string[]) => T): T[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => line.includes(":")).map((line) => toEntry(line.split(":")));
  } catch (error) {
    throw hostError(path, errnoOf(error), error);
  }
}
