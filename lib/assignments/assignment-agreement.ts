/**
 * Refuses assignments and modules that contradict each other on an agent of now. Whatever decides about that goes one after
 * another: in this process by waiting, and against others that have the same storage by a document that each of these
 * changes writes. Agents are no part of it: two assignments that come to share an agent later are told of at its next plan
 * or apply.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { ModuleComparison } from "../module-format/module-comparison.ts";
import { bringTheSame, differentRevisions, pinOf } from "../module-format/module-reference.ts";
import { toDetails } from "../module-format/module-resources.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import type { ModuleService } from "../modules/module-service.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import { allOf } from "../selectors/selector.ts";
import type { Write } from "../storage/storage.ts";
import type { AgreementDocument, AssignmentDocument } from "./documents.ts";

type Assignment = Readonly<AssignmentDocument>;
/** Writes a change, with what must be written in the same step; what is new counts its versions from a base, what is changed keeps its own. */
type Store<Result> = (also: readonly Write[], versionBase: number) => Promise<Result>;

type Removed = [name: string, version: number];

/** Removed assignments whose last versions are kept by name: each of these changes writes them. */
const namesKept = 100;

interface Parts {
  agents: AgentService;
  modules: ModuleService;
  /** Every assignment that is stored. */
  all: () => AsyncIterable<Assignment>;
}

const collection = "assignment_agreement";
const key = "all";

export class AssignmentAgreement {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #selectors = new SelectorCache();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * Lets an assignment be stored where its modules agree with each other and with those of the others. One that asks for what
   * it asked for before is not looked at: it must be possible to change the rest of it.
   */
  guard<Result>(
    { before, after }: { before: Assignment | null; after: Assignment },
    store: Store<Result>,
  ): Promise<Result> {
    if (before && asksForTheSame(before, after)) return store([], 0);
    return this.#inTurn(async () => {
      const added = after.modules.filter((module) => !before?.modules.includes(module));
      // Before anything is read: what is uploaded or removed from here on fails the step that writes these.
      const mark = await this.#mark();
      const writes = [mark.write, ...(await this.#parts.modules.hold(added))];
      await this.#parts.modules.agreement.require(after);
      await this.#requireOthers(after);
      return store(writes, before ? 0 : mark.baseOf(after.name));
    });
  }

  /**
   * Lets a module be stored where each assignment that uses it still agrees with itself and with the others. Params that do not
   * fit it any more are told at the next apply.
   */
  guardUpload<Result>(
    module: ParsedModule,
    store: (also: readonly Write[]) => Promise<Result>,
  ): Promise<Result> {
    return this.#inTurn(async () => {
      const { write } = await this.#mark();
      const all: Assignment[] = [];
      for await (const assignment of this.#parts.all()) all.push(assignment);
      const { name } = module;
      const users = all.filter(
        ({ modules, pins }) => modules.includes(name) && pinOf(pins, name) === undefined,
      );
      for (const user of users) await this.#requireSelf(user, module);
      if (users.length > 0) await this.#requireAmong(users, all, module);
      return store(users.length > 0 ? [write] : []);
    });
  }

  async #requireOthers(after: Assignment): Promise<void> {
    const comparison = await this.#parts.modules.agreement.compare(after);
    for await (const other of this.#parts.all()) {
      if (other.name === after.name) continue;
      this.#requireSameRevisions(after, other);
      await this.#requireSameParams(after, other, comparison);
      await this.#requirePair(after, other, comparison);
    }
  }

  /** Refuses another revision of a module that an agent gets from both now. */
  #requireSameRevisions(first: Assignment, second: Assignment): void {
    const module = first.modules.find(
      (name) => second.modules.includes(name) && !bringTheSame(name, first, second),
    );
    if (module === undefined) return;
    const both = allOf([first, second].map(({ selector }) => this.#selectors.kept(selector)));
    if (!this.#parts.agents.hasMatch(both)) return;
    const message = differentRevisions(module, first, second);
    throw new OrchestratorError("RESOURCE_CONFLICT", {
      message,
      details: { module, assignments: [first.name, second.name] },
      issues: [{ path: ["modules", first.modules.indexOf(module)], message }],
    });
  }

  /** Refuses another value for a param of a module that an agent gets from both now. */
  async #requireSameParams(
    first: Assignment,
    second: Assignment,
    comparison: ModuleComparison,
  ): Promise<void> {
    const differing = await comparison.differingParams(second);
    if (differing.length === 0) return;
    const both = [first, second].map(({ selector }) => this.#selectors.kept(selector));
    const found = differing.find(({ where }) => this.#parts.agents.hasMatch(allOf([...both, where])));
    if (!found) return;
    const { module, param } = found;
    const message = `Assignments ${first.name} and ${second.name} give param ${param} of module ${module} different values.`;
    throw new OrchestratorError("RESOURCE_CONFLICT", {
      message,
      details: { module, param, assignments: [first.name, second.name] },
      issues: [{ path: ["params", param], message }],
    });
  }

  async #requireSelf(user: Assignment, module: ParsedModule): Promise<void> {
    try {
      await this.#parts.modules.agreement.require(user, module);
    } catch (error) {
      if (!isOrchestratorError(error)) throw error;
      if (error.code !== "RESOURCE_CONFLICT") return;
      const { details, issues } = error;
      const message = `In assignment ${user.name}: ${error.message}`;
      throw new OrchestratorError("RESOURCE_CONFLICT", {
        message,
        details,
        issues: [...issues],
        cause: error,
      });
    }
  }

  async #requireAmong(
    users: readonly Assignment[],
    all: readonly Assignment[],
    module: ParsedModule,
  ): Promise<void> {
    const { agreement } = this.#parts.modules;
    const modules = [module.name];
    const alone = await agreement.compare({ modules }, module);
    const others: Assignment[] = [];
    for (const other of all) if ((await alone.shared(other)).size > 0) others.push(other);
    for (const user of users) {
      const comparison = await agreement.compare({ modules, params: user.params }, module);
      for (const other of others)
        if (other.name !== user.name) await this.#requirePair(user, other, comparison);
      // Hundreds of users beside hundreds of others take a second.
      if (others.length > 0) await nextTurn();
    }
  }

  /** Refuses what contradicts on an agent that both match now. What costs least is asked first. */
  async #requirePair(first: Assignment, second: Assignment, comparison: ModuleComparison): Promise<void> {
    const { agents } = this.#parts;
    const shared = await comparison.shared(second);
    if (shared.size === 0) return;
    const both = allOf([first, second].map(({ selector }) => this.#selectors.kept(selector)));
    if (!agents.hasMatch(both)) return;
    const contradictions = await comparison.contradictions(second, shared);
    const found = contradictions.find(({ where }) => agents.hasMatch(allOf([both, where])));
    if (!found) return;
    const { conflict } = found;
    throw new OrchestratorError("RESOURCE_CONFLICT", {
      message: `Assignments ${first.name} and ${second.name} match the same agents: ${conflict.message}`,
      details: { ...toDetails(conflict), assignments: [first.name, second.name] },
      issues: [{ path: ["modules"], message: conflict.message }],
    });
  }

  /** Lets an assignment be removed so that none of its name ever has that version again. */
  guardRemoval<Result>(
    name: string,
    version: number,
    store: (also: readonly Write[]) => Promise<Result>,
  ): Promise<Result> {
    return this.#inTurn(async () => store([(await this.#mark([name, version])).write]));
  }

  /** Fails the step that writes it with `REVISION_CONFLICT` where another of these changes came between. */
  async #mark(gone?: Removed): Promise<{ write: Write; baseOf: (name: string) => number }> {
    const stored = await this.#context.storage.get<AgreementDocument>(collection, key);
    const { removed = [], removed_version = 0 } = stored?.value ?? {};
    const kept = gone ? [...removed.filter(([name]) => name !== gone[0]), gone] : [...removed];
    const others = kept.splice(0, kept.length - namesKept).map(([, version]) => version);
    const other = Math.max(removed_version, ...others);
    const value = {
      changed_at: this.#context.timestamp(),
      ...(kept.length > 0 && { removed: kept }),
      ...(other > 0 && { removed_version: other }),
    };
    const write: Write = { kind: "put", collection, key, value, expected: stored?.revision ?? 0 };
    return { write, baseOf: (name) => kept.find(([each]) => each === name)?.[1] ?? other };
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.then(
      () => {},
      () => {},
    );
    return result;
  }
}

function asksForTheSame(before: Assignment, after: Assignment): boolean {
  const asked = ({ selector, modules, pins = {}, params = {} }: Assignment): string =>
    canonicalJson({ selector, modules, pins, params });
  return asked(before) === asked(after);
}
