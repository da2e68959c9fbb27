/** One history of a machine: applies that fail and die, edits by somebody else, and in the end the removal of everything. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { AppliedSet } from "../../../lib/agent/applied-set.ts";
import { parseJournal } from "../../../lib/agent/journal-record.ts";
import { OperationJournal } from "../../../lib/agent/operation-journal.ts";
import { recoverCutOff } from "../../../lib/agent/recovery.ts";
import { runOperation } from "../../../lib/agent/run-operation.ts";
import { systemClock } from "../../../lib/clock.ts";
import { hostError } from "../../../lib/host/host-error.ts";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import { MemoryHost as Machine } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { resourceTypes } from "../../../lib/state/resources/index.ts";
import { assertEqual } from "../../../lib/testing/expect.ts";
import { apply } from "../agent-commands.ts";
import { accountPrograms, prepareAccounts } from "../machine/accounts.ts";
import { declare } from "../state-fixture.ts";
import { type Fault, FaultyHost, type FaultPlan } from "./faulty-host.ts";
import { Oracle } from "./oracle.ts";
import { type Thing, things } from "./things.ts";

/** One fault, as it is drawn. */
export interface DrawnFault {
  call: number;
  kind: Fault["kind"] | "power lost";
  /** Of an edit: whose, and which. */
  thing: number;
  edit: number;
}

/** What happens next. */
export type Step =
  | { kind: "edit"; thing: number; edit: number }
  | {
      kind: "apply";
      wishes: (number | null)[];
      faults: DrawnFault[];
      judge: "accepts" | "refuses" | "edits";
    };

const errnos = ["ENOSPC", "EROFS", "EPERM", "EIO"];

/** Nothing happens. */
const calm: FaultPlan = { at: new Map(), die() {}, cancel() {}, failed() {}, durable() {} };

/** A machine with its agent, life after life. */
export class History {
  readonly #folder: string;
  readonly #host: MemoryHost;
  readonly oracle: Oracle;
  #operations = 0;
  #boots = 0;
  #judge: Extract<Step, { kind: "apply" }>["judge"] = "accepts";
  /** What is being changed: what somebody does to it in that moment can't be told from what we do. */
  #acting: string | null = null;
  #failures = 0;
  #applied: AppliedSet;
  #journal: OperationJournal;
  /** How often a life ended. */
  lives = 1;

  /** @param folder - The state folder, empty. */
  constructor(folder: string) {
    this.#folder = folder;
    const host: MemoryHost = new Machine({
      users: { root: 0, web: 33 },
      programs: { ...accountPrograms(() => host), judge: ({ argv }) => this.#judged(argv[1] ?? "") },
    });
    prepareAccounts(host);
    for (const path of ["/w", "/home"]) host.files.makeDirectory(path, { mode: 0o755 });
    host.files.writeFile(
      "/etc/passwd",
      Buffer.from("root:x:0:0:root:/root:/bin/sh\nweb:x:33:33::/:/bin/sh\n"),
      {},
    );
    this.#host = host;
    this.oracle = new Oracle(host);
    this.#journal = this.#openJournal();
    this.#applied = new AppliedSet(folder);
  }

  /** Takes a step. */
  async take(step: Step): Promise<void> {
    if (step.kind === "edit") {
      this.#edit(step);
      return;
    }
    this.#judge = step.judge;
    const wished = things.map((thing, index) => {
      const wish = step.wishes[index];
      return wish === null || wish === undefined ? null : (thing.wishes[wish % thing.wishes.length] ?? null);
    });
    await this.#apply(wished, step.faults);
  }

  /** Takes everything away, with no more faults, and judges what is left. */
  async end(): Promise<void> {
    this.#judge = "accepts";
    // What somebody else put in the way of a removal is cleared away by him.
    for (let tries = 0; tries === 0 || (this.#applied.resources.length > 0 && tries < 3); tries += 1) {
      await this.#apply([], []);
      for (const { resource } of this.#applied.resources) this.#clearWay(resource.identity, tries);
    }
    assertEqual(
      this.#applied.resources.map(({ resource }) => resource.identity),
      [],
      "what is left applied",
    );
    this.oracle.judgeEnd();
    this.oracle.judgeBackups([], { pruned: true });
  }

  #clearWay(identity: string, tries: number): void {
    const thing = things.find(({ name }) => `${identity}:`.startsWith(`${name}:`));
    if (thing)
      this.#attempt(() => (tries === 0 ? thing.put(this.#host, null) : thing.edits[0]?.(this.#host)));
    this.oracle.notice("somebody else");
  }

  async #apply(wished: readonly (JsonObject | null)[], drawn: readonly DrawnFault[]): Promise<void> {
    const controller = new AbortController();
    let left: (() => void) | null = null;
    this.oracle.begin(things.filter((_thing, index) => wished[index]));
    let forget = this.oracle.remember();
    const powerLost = drawn.some(({ kind }) => kind === "power lost");
    const faulty = new FaultyHost(this.#host, this.oracle, {
      at: new Map(drawn.map((fault) => [fault.call, this.#toFault(fault)])),
      die: () => {
        left = this.#keepFolder(powerLost);
        const thing = things.find(({ identity }) => identity === this.#acting);
        if (thing) this.oracle.doubtEdited(thing);
      },
      cancel: () => controller.abort(),
      failed: () => this.#failed(),
      durable: () => (forget = this.oracle.remember()),
    });
    const resources = declare(wished.filter((wish) => wish !== null));
    const command = apply((this.#operations += 1), { resources, allow_empty: true });
    if (command.type !== "apply") return;
    this.#journal.accept({ operation_id: command.operation_id, kind: "apply", not_after: command.not_after });
    const ended = await runOperation(command, this.#context(faulty.host, controller.signal));
    this.#acting = null;
    const died = left as (() => void) | null;
    if (!died) {
      this.oracle.judge(this.#applied.resources);
      this.oracle.judgeBackups(this.#applied.resources, { pruned: ended?.result.results.length !== 0 });
      return;
    }
    died();
    if (powerLost) this.#losePower(drawn[0]?.edit ?? 0, forget);
    await this.#liveAgain();
  }

  /** Everything since the last barrier may be gone, or none of it. */
  #losePower(draw: number, forget: () => void): void {
    this.#boots += 1;
    if (draw % 2 === 0) forget();
    else for (const thing of things) if (this.oracle.wanted.has(thing)) this.oracle.doubt(thing);
  }

  async #liveAgain(): Promise<void> {
    this.lives += 1;
    this.#journal = this.#openJournal();
    this.#applied = new AppliedSet(this.#folder);
    const { host } = new FaultyHost(this.#host, this.oracle, calm);
    const context = this.#context(host, new AbortController().signal);
    await recoverCutOff(context);
    this.oracle.judge(this.#applied.resources);
    this.oracle.judgeBackups(this.#applied.resources, { pruned: true });
  }

  #context(host: FaultyHost["host"], signal: AbortSignal): Parameters<typeof runOperation>[1] {
    return {
      journal: this.#journal,
      applied: this.#applied,
      host,
      clock: systemClock,
      logger: silentLogger,
      types: resourceTypes,
      progress: () => {},
      signal,
      cut: new AbortController().signal,
      refusal: null,
      isInterrupted: () => false,
      ending: new AbortController().signal,
    };
  }

  #openJournal(): OperationJournal {
    const context = { stateDir: this.#folder, clock: systemClock, logger: silentLogger };
    const journal = new OperationJournal({ ...context, boot: `boot ${this.#boots}` });
    const [begun, results] = [journal.begun.bind(journal), journal.results.bind(journal)];
    journal.begun = (operationId, change) => {
      begun(operationId, change);
      this.#acting = change.identity;
      this.#failures = 0;
    };
    journal.results = (operationId, found) => {
      this.#acting = null;
      results(operationId, found);
    };
    return journal;
  }

  #toFault({ kind, thing, edit, call }: DrawnFault): Fault {
    if (kind === "edited") return { kind, edit: () => this.#edit({ thing, edit }, { meanwhile: true }) };
    if (kind === "refused") return { kind, errno: errnos[edit % errnos.length] ?? "EIO" };
    if (kind === "power lost") return { kind: call % 2 === 0 ? "killed" : "killed behind" };
    return { kind };
  }

  /** Where a change breaks and the look at what it left does too, nobody can tell. */
  #failed(): void {
    this.#failures += 1;
    const thing = things.find(({ identity }) => identity === this.#acting);
    if (thing && this.#failures > 1) this.oracle.doubt(thing);
  }

  #edit(
    { thing: which, edit }: { thing: number; edit: number },
    { meanwhile = false }: { meanwhile?: boolean } = {},
  ): void {
    const thing = things[which % things.length] as Thing;
    if (meanwhile && (thing.byProgram || this.#acting === thing.identity)) return;
    this.#attempt(() => thing.edits[edit % thing.edits.length]?.(this.#host));
    this.oracle.notice("somebody else");
  }

  /** What the machine refuses to somebody else he leaves. */
  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "HOST_ERROR")) throw error;
    }
  }

  #judged(path: string): { exitCode: number } {
    if (this.#judge === "edits") {
      if (this.#host.files.stat(path)?.kind === "directory") throw hostError(path, "EISDIR");
      this.#host.files.writeFile(path, Buffer.from(`while judged ${this.#operations}\n`), { mode: 0o644 });
      this.oracle.notice("somebody else");
    }
    return { exitCode: this.#judge === "refuses" ? 1 : 0 };
  }

  /** What a process that dies now leaves in its folder; puts that back when called. Without power, only what was synced. */
  #keepFolder(powerLost: boolean): () => void {
    const operations = join(this.#folder, "operations");
    const paths = [
      ...["applied.json", "acknowledged.jsonl"].map((name) => join(this.#folder, name)),
      ...readdirSync(operations).map((name) => join(operations, name)),
    ];
    const kept = paths.flatMap((path) => {
      const text = readText(path);
      return text === null
        ? []
        : [[path, powerLost && path.startsWith(operations) ? synced(text, basename(path, ".jsonl")) : text]];
    });
    return () => {
      for (const path of [...paths, ...readdirSync(operations).map((name) => join(operations, name))])
        rmSync(path, { force: true });
      for (const [path, text] of kept) writeFileSync(path ?? "", text ?? "");
    };
  }
}

/** A journal up to its last durable record. */
function synced(text: string, operationId: string): string {
  const { records } = parseJournal(text, operationId);
  const last = records.findLastIndex(({ record }) => ["accepted", "captured", "finished"].includes(record));
  return text
    .split("\n")
    .slice(0, last + 1)
    .map((line) => `${line}\n`)
    .join("");
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
