import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { pinOf } from "../module-format/module-reference.ts";
import type { ModuleService } from "../modules/module-service.ts";
import { matchesSelector } from "../selectors/match.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { AssignmentAgreement } from "./assignment-agreement.ts";
import type { AssignmentDocument } from "./documents.ts";
import { DueAssignments } from "./due-assignments.ts";
import type { Assignment } from "./schemas.ts";

/** Tells which assignments match an agent, by name, of those that there were when it was made. */
export type AssignmentMatcher = (target: SelectorTarget) => Readonly<AssignmentDocument>[];

/** Assignments for other features: which there are, whom they match, what they bring and when they are due. */
export class AssignmentService {
  /** When those with a schedule are due. */
  readonly due: DueAssignments;
  /** Whether they can stand beside each other. */
  readonly agreement: AssignmentAgreement;
  readonly selectors = new SelectorCache();
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #modules: ModuleService;

  constructor(context: Context, { agents, modules }: { agents: AgentService; modules: ModuleService }) {
    this.#context = context;
    this.#agents = agents;
    this.#modules = modules;
    this.due = new DueAssignments(context);
    context.references.register("module", (names) => this.#usersOf(new Set(names)));
    this.agreement = new AssignmentAgreement(context, { agents, modules, all: () => this.all() });
    modules.guardUploads((module, store) => this.agreement.guardUpload(module, store));
  }

  /** Reads an assignment; `NOT_FOUND` where there is none. */
  async read(name: string): Promise<StoredDocument<AssignmentDocument>> {
    const stored = await this.#context.storage.get<AssignmentDocument>("assignments", name);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no assignment ${name}.` });
    return stored;
  }

  /** The approved agents that an assignment matches now, by node_id. */
  matchedAgents(assignment: Readonly<AssignmentDocument>): string[] {
    return this.#agents.matching(this.selectors.kept(assignment.selector));
  }

  /** The modules of an assignment in the revisions that it brings now, and what must be written beside a reference to them. */
  async revisionsOf({ modules, pins }: Readonly<AssignmentDocument>): Promise<{
    modules: { name: string; revision: number }[];
    held: Write[];
  }> {
    const names = [...new Set(modules)];
    const held = await this.#modules.hold(names);
    const resolved = await Promise.all(names.map((name) => this.#modules.resolve(name, pinOf(pins, name))));
    return { modules: resolved.map(({ name, revision }) => ({ name, revision })), held };
  }

  /** The revisions that an assignment brings now, and which of them it is pinned to. */
  async broughtNow({ modules, pins }: Readonly<AssignmentDocument>): Promise<Assignment["revisions"]> {
    const stored = await this.#context.storage.getMany<{ revision: number }>("modules", modules);
    return modules.flatMap((name, at) => {
      const pin = pinOf(pins, name);
      const revision = pin ?? stored[at]?.value.revision;
      return revision === undefined ? [] : [{ name, revision, pinned: pin !== undefined }];
    });
  }

  /** Reads every assignment once, to ask for one agent after another; see `AssignmentMatcher`. */
  async matcher(): Promise<AssignmentMatcher> {
    const all: Readonly<AssignmentDocument>[] = [];
    for await (const assignment of this.all()) all.push(assignment);
    const selectors = all.map(({ selector }) => this.selectors.kept(selector));
    return (target) => all.filter((_, at) => matchesSelector(selectors[at]!, target));
  }

  async #usersOf(wanted: ReadonlySet<string>): Promise<Map<string, string[]>> {
    const users = new Map<string, string[]>();
    for await (const { name, modules } of this.all()) {
      for (const module of new Set(modules)) {
        if (wanted.has(module)) users.set(module, [...(users.get(module) ?? []), name]);
      }
    }
    return users;
  }

  /** Every assignment, by name. */
  async *all(): AsyncGenerator<Readonly<AssignmentDocument>> {
    for await (const { value } of eachDocument<AssignmentDocument>(this.#context.storage, "assignments"))
      yield value;
  }
}
