import { readFileSync } from "node:fs";
import { isOrchestratorError } from "../errors.ts";
import { errnoOf, hostError } from "./host-error.ts";
import type { HostUsers } from "./host.ts";
import { NameService, type NameTable } from "./local-names.ts";

/** How long a table is believed, milliseconds: a run over thousands of files reads it once, a new user is seen at once after. */
const freshMs = 1000;

/** An account as a program needs it. */
export interface LocalAccount {
  name: string;
  uid: number;
  gid: number;
  home: string;
  /** Empty where none is named. */
  shell: string;
}

/**
 * Users and groups from the files that name them and, for those that the files do not have, from the machine's name service:
 * LDAP, sssd, systemd and the like.
 */
export class LocalUsers implements HostUsers {
  #accounts: { readAtMs: number; list: LocalAccount[] } | null = null;
  #groups: { readAtMs: number; list: { name: string; gid: number }[] } | null = null;

  readonly #names = new NameService();
  readonly #folder: string;

  /** @param folder - Where the files `passwd` and `group` are. */
  constructor(folder = "/etc") {
    this.#folder = folder;
  }

  userId(name: string): number | null {
    return this.account(name)?.uid ?? null;
  }

  groupId(name: string): number | null {
    const found = this.#groupList().find((group) => group.name === name);
    return found?.gid ?? gidOf(this.#names.find("group", name));
  }

  userName(uid: number): string | null {
    const found = this.#accountList().find((account) => account.uid === uid);
    return found?.name ?? this.#nameOf("passwd", uid);
  }

  groupName(gid: number): string | null {
    const found = this.#groupList().find((group) => group.gid === gid);
    return found?.name ?? this.#nameOf("group", gid);
  }

  /** The whole account of a user, by name or, where nobody is called so, by number in digits, as chown(1) has it. */
  account(name: string): LocalAccount | null {
    const uid = /^\d+$/.test(name) ? Number(name) : null;
    const accounts = this.#accountList();
    const found =
      accounts.find((account) => account.name === name) ?? accounts.find((account) => account.uid === uid);
    if (found) return found;
    const fields = this.#names.find("passwd", name);
    return fields && toAccount(fields);
  }

  /** Looks again at the next question: a program that ran may have made users. */
  forget(): void {
    this.#accounts = null;
    this.#groups = null;
    this.#names.forgetNone();
  }

  /** For people to read, so a service that does not answer is no reason to fail. */
  #nameOf(table: NameTable, id: number): string | null {
    try {
      return this.#names.find(table, String(id))?.[0] ?? null;
    } catch (error) {
      if (isOrchestratorError(error, "HOST_ERROR")) return null;
      throw error;
    }
  }

  #accountList(): LocalAccount[] {
    const nowMs = performance.now();
    if (this.#accounts === null || nowMs - this.#accounts.readAtMs > freshMs) {
      const list = readTable(`${this.#folder}/passwd`, toAccount);
      this.#accounts = { readAtMs: nowMs, list };
    }
    return this.#accounts.list;
  }

  #groupList(): { name: string; gid: number }[] {
    const nowMs = performance.now();
    if (this.#groups === null || nowMs - this.#groups.readAtMs > freshMs) {
      const list = readTable(`${this.#folder}/group`, ([name = "", , gid]) => ({ name, gid: Number(gid) }));
      this.#groups = { readAtMs: nowMs, list };
    }
    return this.#groups.list;
  }
}

function toAccount([name = "", , uid, gid, , home = "/", shell = ""]: string[]): LocalAccount {
  return { name, uid: Number(uid), gid: Number(gid), home, shell };
}

function gidOf(fields: string[] | null): number | null {
  return fields && Number(fields[2]);
}

function readTable<T>(path: string, toEntry: (fields: string[]) => T): T[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => line.includes(":")).map((line) => toEntry(line.split(":")));
  } catch (error) {
    throw hostError(path, errnoOf(error), error);
  }
}
