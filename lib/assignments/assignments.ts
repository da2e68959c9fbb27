import type { z } from "zod";
import { toSubject, type Caller } from "../access/caller.ts";
import type { Agents } from "../agents/agents.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { EventType } from "../events.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { eachDocument } from "../internal/each-document.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { ParsedModule } from "../modules/parsed-module.ts";
import type { Modules } from "../modules/modules.ts";
import { matchesSelector } from "../selectors/match.ts";
import { parseSelector } from "../selectors/parse.ts";
import { printSelector } from "../selectors/print.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { AssignmentDocument } from "./documents.ts";
import {
  assignmentNameInput,
  createAssignmentInput,
  listAssignmentsInput,
  updateAssignmentInput,
  type Assignment,
  type AssignmentDetail,
} from "./schemas.ts";

/** How many parsed selectors are kept in memory. */
const keptInMemory = 1000;

/** Named bindings of modules to the agents that a selector matches. Applying one is a verb of rollouts. */
export class Assignments {
  readonly #context: Context;
  readonly #agents: Agents;
  readonly #modules: Modules;
  readonly #selectors = new Map<string, Selector>();

  constructor(context: Context, agents: Agents, modules: Modules) {
    this.#context = context;
    this.#agents = agents;
    this.#modules = modules;
    context.references.register("module", (name) => this.#usersOf(name));
    modules.beforeUpload((module) => this.#requireAgreement(module));
  }

  /** Lists assignments by name. */
  async list(caller: Caller, input: z.input<typeof listAssignmentsInput> = {}): Promise<Page<Assignment>> {
    await this.#context.authorize(caller, "assignments.list");
    const { limit = 50, cursor } = parseInput(listAssignmentsInput, input);
    const page = await this.#context.storage.list<AssignmentDocument>("assignments", {
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("assignments", {}, cursor)) }),
    });
    return {
      items: page.items.map((item) => this.#toAssignment(item.value)),
      next_cursor: page.next === null ? null : encodeCursor("assignments", {}, page.next),
    };
  }

  /**
   * Reads an assignment with the agents that it matches now.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof assignmentNameInput>): Promise<AssignmentDetail> {
    await this.#context.authorize(caller, "assignments.get");
    const { value } = await this.read(parseInput(assignmentNameInput, input).name);
    const matched = this.#agents.matching(this.#selector(value.selector));
    const matchedAgents = await Promise.all(
      matched.map(async (nodeId) => ({ node_id: nodeId, name: await this.#agents.nameOf(nodeId) })),
    );
    return { ...this.#toAssignment(value), matched_agents: matchedAgents };
  }

  /**
   * Creates an assignment. Nothing is applied by it.
   *
   * @throws {OrchestratorError} `SELECTOR_INVALID`; `NOT_FOUND` for an unknown module; `VALIDATION_FAILED` for params that
   * its modules do not declare or that are missing; `TEMPLATE_FAILED` where a param makes a resource that is none;
   * `RESOURCE_CONFLICT` where two of its modules contradict each other; `ALREADY_EXISTS`.
   */
  async create(caller: Caller, input: z.input<typeof createAssignmentInput>): Promise<Assignment> {
    await this.#context.authorize(caller, "assignments.create");
    const { description, params, ...fields } = parseInput(createAssignmentInput, input);
    const document: AssignmentDocument = {
      ...fields,
      ...(description !== undefined && { description }),
      ...(params !== undefined && { params }),
      selector: printSelector(parseSelector(fields.selector)),
      created_at: this.#context.timestamp(),
      created_by: toSubject(caller).name,
    };
    await this.#modules.requireCompatible(document);
    await this.#write(caller, document, 0).catch((error: unknown) => {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
      throw new OrchestratorError("ALREADY_EXISTS", {
        message: `An assignment ${document.name} exists.`,
        cause: error,
      });
    });
    return this.#toAssignment(document);
  }

  /**
   * Changes an assignment; what is absent stays. Nothing is applied by it.
   *
   * @throws {OrchestratorError} As {@link create}, and `NOT_FOUND` for the assignment itself.
   */
  async update(caller: Caller, input: z.input<typeof updateAssignmentInput>): Promise<Assignment> {
    await this.#context.authorize(caller, "assignments.update");
    const { name, description, selector, modules, params } = parseInput(updateAssignmentInput, input);
    const changes = {
      ...(description !== undefined && { description }),
      ...(selector !== undefined && { selector: printSelector(parseSelector(selector)) }),
      ...(modules !== undefined && { modules }),
      ...(params !== undefined && { params }),
    };
    return retryOnConflict(async () => {
      const stored = await this.read(name);
      const document: AssignmentDocument = { ...stored.value, ...changes };
      await this.#modules.requireCompatible(document);
      await this.#write(caller, document, stored.revision);
      return this.#toAssignment(document);
    });
  }

  /**
   * Removes an assignment. Machines keep what it applied until their next apply, whose plan shows the removals.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async remove(caller: Caller, input: z.input<typeof assignmentNameInput>): Promise<void> {
    await this.#context.authorize(caller, "assignments.remove");
    const { name } = parseInput(assignmentNameInput, input);
    await retryOnConflict(async () => {
      const stored = await this.read(name);
      await this.#context.commit(
        caller,
        [{ kind: "delete", collection: "assignments", key: name, expected: stored.revision }],
        this.#event("assignment.removed", stored.value),
      );
    });
  }

  /** Reads an assignment; `NOT_FOUND` where there is none. */
  async read(name: string): Promise<StoredDocument<AssignmentDocument>> {
    const stored = await this.#context.storage.get<AssignmentDocument>("assignments", name);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no assignment ${name}.` });
    return stored;
  }

  /** The approved agents that an assignment matches now, by node_id. */
  matchedAgents(assignment: Readonly<AssignmentDocument>): string[] {
    return this.#agents.matching(this.#selector(assignment.selector));
  }

  /** The assignments that match an agent, by name. Costs a look at each assignment, never at other agents. */
  async matching(target: SelectorTarget): Promise<Readonly<AssignmentDocument>[]> {
    const matching: Readonly<AssignmentDocument>[] = [];
    for await (const assignment of this.#all()) {
      if (matchesSelector(this.#selector(assignment.selector), target)) matching.push(assignment);
    }
    return matching;
  }

  /** Refuses a module that contradicts another of an assignment. Params that do not fit it any more are told at the next apply. */
  async #requireAgreement(module: ParsedModule): Promise<void> {
    for await (const assignment of this.#all()) {
      if (!assignment.modules.includes(module.name)) continue;
      try {
        await this.#modules.requireCompatible(assignment, module);
      } catch (error) {
        if (!isOrchestratorError(error)) throw error;
        if (error.code !== "RESOURCE_CONFLICT") continue;
        const message = `In assignment ${assignment.name}: ${error.message}`;
        throw new OrchestratorError("RESOURCE_CONFLICT", {
          message,
          issues: [...error.issues],
          cause: error,
        });
      }
    }
  }

  async #usersOf(module: string): Promise<string[]> {
    const users: string[] = [];
    for await (const { name, modules } of this.#all()) {
      if (modules.includes(module)) users.push(name);
    }
    return users;
  }

  async *#all(): AsyncGenerator<Readonly<AssignmentDocument>> {
    for await (const { value } of eachDocument<AssignmentDocument>(this.#context.storage, "assignments"))
      yield value;
  }

  #write(caller: Caller, document: AssignmentDocument, expected: number): Promise<unknown> {
    const value = { ...document } as unknown as JsonObject;
    return this.#context.commit(
      caller,
      [{ kind: "put", collection: "assignments", key: document.name, value, expected }],
      this.#event(expected === 0 ? "assignment.created" : "assignment.updated", document),
    );
  }

  #event(type: EventType, { name, selector, modules }: Readonly<AssignmentDocument>): EventInput {
    return {
      type,
      target: { type: "assignment", id: name, name },
      summary: `Assignment ${name} was ${type.slice("assignment.".length)}`,
      metadata: { selector, modules: [...modules] },
    };
  }

  #selector(text: string): Selector {
    const known = this.#selectors.get(text);
    if (known) return known;
    if (this.#selectors.size >= keptInMemory) this.#selectors.clear();
    const selector = parseSelector(text);
    this.#selectors.set(text, selector);
    return selector;
  }

  #toAssignment(document: Readonly<AssignmentDocument>): Assignment {
    return { ...document, modules: [...document.modules], matches: this.matchedAgents(document).length };
  }
}
