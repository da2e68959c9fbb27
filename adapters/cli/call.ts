/** One run of a command: what it may use. */
import { existsSync } from "node:fs";
import type { Page } from "fleetwright";
import { createClient } from "../client/client.ts";
import type { Client } from "../client/client.ts";
import { readSigner } from "../client/node-signer.ts";
import type { CommandContext, ExitCode } from "./context.ts";
import { pinKey } from "./orchestrator-keys.ts";
import { readProfile, serverUrl, writeProfile } from "./profile.ts";
import type { Profile } from "./profile.ts";
import { toTable } from "./text.ts";
import type { Column } from "./text.ts";

/** Options that every command takes. */
export interface GlobalOptions {
  json?: boolean;
  url?: string;
}

/** What a command does; resolves with its exit code, 0 where it says nothing. */
export type Work<Args extends unknown[]> = (call: CommandCall, ...args: Args) => Promise<ExitCode | void>;

/** Turns the work of a command into an action for commander. */
export type Run = <Args extends unknown[]>(work: Work<Args>) => (...args: Args) => Promise<void>;

/** One run of a command. */
export class CommandCall {
  readonly context: CommandContext;
  readonly options: GlobalOptions;
  #client: Client | null = null;

  constructor(context: CommandContext, options: GlobalOptions) {
    this.context = context;
    this.options = options;
  }

  /** Calls the server as the user who signed in; signs in again by itself when the session has ended. */
  get client(): Client {
    return (this.#client ??= this.#connect());
  }

  /** Shows a result: as the API's JSON for programs, else as text. */
  show(value: unknown, text: () => string): void {
    this.context.stdout(this.options.json ? `${JSON.stringify(value, null, 2)}\n` : text());
  }

  /** Shows a list, read page by page up to a limit. */
  async showList<Item, Filter extends PageQuery>(
    list: (query: Filter & PageQuery) => Promise<Page<Item>>,
    query: Filter,
    columns: readonly Column<Item>[],
  ): Promise<void> {
    const page = await collect(list, query);
    this.show(page, () => toTable(page.items, columns));
    if (page.next_cursor !== null && !this.options.json) {
      this.context.stderr(`There are more than ${page.items.length}; --limit shows more.\n`);
    }
  }

  #connect(): Client {
    const profile = readProfile(this.context);
    const url = serverUrl(this.context, this.options.url, profile);
    if (!profile) return createClient({ url });
    const signer = existsSync(profile.key) ? { signer: readSigner(profile.key) } : {};
    const pin = pinKey(this.context, { url, profile });
    const keep = (fresh: Profile): void => writeProfile(this.context, pin.keep(fresh));
    // A session belongs to the server that opened it, and no other is to see its token.
    if (url !== profile.url) {
      return createClient({ url, ...pin.options, onToken: () => keep(profile), ...signer });
    }
    const { token } = profile;
    // Without a token the user has signed out, and stays so until the next login.
    if (token === undefined) return createClient({ url });
    const onToken = (made: string): void => keep({ ...profile, token: made });
    return createClient({ url, token, ...pin.options, onToken, ...signer });
  }
}

const largestPage = 500;

/** How much of a list is wanted, beside what it is filtered by. */
interface PageQuery {
  limit?: number | undefined;
  cursor?: string | undefined;
}

/** Reads a list page by page, up to a limit. */
export async function collect<Item, Filter extends PageQuery>(
  list: (query: Filter & PageQuery) => Promise<Page<Item>>,
  query: Filter,
): Promise<Page<Item>> {
  const { limit = 100 } = query;
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const size = Math.min(largestPage, limit - items.length);
    const page: Page<Item> = await list({ ...query, limit: size, ...(cursor !== null && { cursor }) });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && items.length < limit);
  return { items, next_cursor: cursor };
}
