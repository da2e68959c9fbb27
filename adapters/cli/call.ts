/** One run of a command: what it may use. */
import type { Page } from "fleetwright";
import { isOrchestratorError } from "fleetwright/errors";
import type { ApiError } from "../client/api-error.ts";
import { createClient } from "../client/client.ts";
import type { Client } from "../client/client.ts";
import type { Fetch } from "../client/http.ts";
import type { TableView } from "./cells.ts";
import type { CommandContext, ExitCode } from "./context.ts";
import { describeAway, tellOf, toProblemLine } from "./failure.ts";
import { pinKey } from "./orchestrator-keys.ts";
import { toFirstColumn, toJsonLine } from "./output.ts";
import type { OutputFormat, Print } from "./output.ts";
import type { Paint } from "./paint.ts";
import { patientFetch } from "./patient-fetch.ts";
import { readProfile, requireNamed, serverUrl, writeProfile } from "./profile.ts";
import type { Profile } from "./profile.ts";
import { findSigner } from "./sign-in-key.ts";
import { toLine, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";
import type { ShellExitCode } from "./work/shell-exit-code.ts";

/** Options that every command takes. */
export interface GlobalOptions {
  /** Whether the result is for programs, in whatever format: nobody is asked, and nothing else is printed. */
  json?: boolean;
  output?: OutputFormat;
  url?: string;
  profile?: string;
}

/** How one run of a command prints what it comes to. */
export interface Printing {
  format: OutputFormat;
  /** For programs. */
  print: Print;
  paint: Paint;
}

/** What a command does; resolves with its exit code, 0 where it says nothing. */
export type Work<Args extends unknown[]> = (
  call: CommandCall,
  ...args: Args
) => Promise<ExitCode | ShellExitCode | void>;

/** Turns the work of a command into an action for commander. */
export type Run = <Args extends unknown[]>(work: Work<Args>) => (...args: Args) => Promise<void>;

/** One run of a command. */
export class CommandCall {
  readonly context: CommandContext;
  readonly options: GlobalOptions;
  /** Colours, where the result goes to a terminal that wants them. */
  readonly paint: Paint;
  readonly #printing: Printing;
  /** Says where a server gives no answer. */
  readonly fetch: Fetch = patientFetch((error) => this.tellAway(error));
  #client: Client | null = null;

  constructor(context: CommandContext, options: GlobalOptions, printing: Printing) {
    this.context = context;
    this.options = options;
    this.paint = printing.paint;
    this.#printing = printing;
  }

  /** How tables are shown. */
  get view(): TableView {
    const isWide = this.#printing.format === "wide";
    return { isWide, now: Date.now(), width: this.context.columns ?? 80, paint: this.paint };
  }

  /** Calls the server as the user who signed in; signs in again by itself when the session has ended. */
  get client(): Client {
    return (this.#client ??= this.#connect());
  }

  /** How results are printed. */
  get format(): OutputFormat {
    return this.#printing.format;
  }

  /**
   * Shows a result: as the API's JSON, as YAML or as names for programs, else as text.
   *
   * @param named - What of it has the names that other commands take. Default the result itself.
   */
  show(value: unknown, text: (view: TableView) => string, named: unknown = value): void {
    const printed = this.format === "name" ? named : value;
    this.context.stdout(this.options.json ? this.#printing.print(printed) : text(this.view));
  }

  /** The same of a result that is about several things: their names are those, and not its own. */
  showAbout(things: readonly object[], value: unknown, text: (view: TableView) => string): void {
    this.show(this.#isNames ? things : value, text);
  }

  /** Shows what was refused: in the result for programs that read one, else as text on standard error. */
  refuse(value: unknown, text: () => string): void {
    if (this.options.json && !this.#isNames) this.show(value, text);
    else this.context.stderr(text());
  }

  get #isNames(): boolean {
    return this.#printing.format === "name";
  }

  /** Tells of a failure that ends nothing, on standard error, in the format of the result. */
  tellFailure(error: unknown, about?: string): void {
    const isProblem = this.#printing.format === "json";
    this.context.stderr(isProblem ? toProblemLine(error, about) : this.paint.failure(tellOf(error, about)));
  }

  /** Says, on standard error and in the format of the result, that a server that is away is waited for. */
  tellAway(error: ApiError): void {
    this.context.stderr(describeAway(error, this.#printing.format));
  }

  /** Tells people something beside the result, on standard error; programs are told nothing. */
  tellNotice(text: string): void {
    if (!this.options.json) this.context.stderr(toLines([toLine(text)]));
  }

  /** Tells, on standard error and in the format of the result, what goes on though the command ends, with its id. */
  tellGoingOn(text: string, ids: Record<string, string>): void {
    const isProblem = this.#printing.format === "json";
    const problem = { type: "about:blank", title: "What was waited for goes on.", detail: text, ...ids };
    this.context.stderr(isProblem ? toJsonLine(problem) : toLines([toLine(text)]));
  }

  /** Shows a list, read page by page up to a limit. */
  async showList<Item, Filter extends PageQuery>(
    list: (query: Filter & PageQuery) => Promise<Page<Item>>,
    query: Filter,
    columns: readonly Column<Item>[],
  ): Promise<void> {
    const page = await collect(list, query);
    if (this.#isNames) return this.context.stdout(toFirstColumn(page.items, columns));
    this.show(page, (view) => toTable(page.items, columns, view));
    if (page.next_cursor !== null && !this.options.json) {
      this.context.stderr(`There are more than ${page.items.length}; --limit shows more.\n`);
    }
  }

  /** Keeps what a new session brought. The command has it, kept or not. */
  #keep(before: Profile, fresh: () => Profile): void {
    try {
      // Who signed in elsewhere or out meanwhile, in another shell, meant that for what comes.
      const now = readProfile(this.context);
      if (now?.url !== before.url || now.key !== before.key) return;
      if (before.token !== undefined && now.token === undefined) return;
      writeProfile(this.context, fresh());
    } catch (error) {
      if (!isOrchestratorError(error)) throw error;
      this.tellNotice(`The new session is not kept: ${error.message}`);
    }
  }

  #connect(): Client {
    const profile = readProfile(this.context);
    const onAway = (error: ApiError): void => this.tellAway(error);
    const { fetch } = this;
    const url = serverUrl(this.context, this.options.url, profile);
    if (!profile) {
      if (this.options.url === undefined) requireNamed(this.context);
      return createClient({ url, fetch, onAway });
    }
    const found = findSigner(this.context, profile.key);
    const signer = found ? { signer: found } : {};
    const pin = pinKey(this.context, { url, profile });
    const keep = (fresh: Profile): void => this.#keep(profile, () => pin.keep(fresh));
    // A session belongs to the server that opened it, and no other is to see its token.
    if (url !== profile.url) {
      return createClient({ url, fetch, onAway, ...pin.options, onToken: () => keep(profile), ...signer });
    }
    const { token } = profile;
    // Without a token the user has signed out, and stays so until the next login.
    if (token === undefined) return createClient({ url, fetch, onAway });
    const onToken = (made: string): void => keep({ ...profile, token: made });
    return createClient({ url, fetch, onAway, token, ...pin.options, onToken, ...signer });
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
