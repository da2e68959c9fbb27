import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import { allows } from "../callers/authorizer.ts";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { EventType } from "../events.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { managedAfter } from "../managed-by.ts";
import { parseReferences, printReferences } from "../module-format/module-reference.ts";
import type { ModuleService } from "../modules/module-service.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { AssignmentService } from "./assignment-service.ts";
import type { AssignmentDocument } from "./documents.ts";
import { nextAfter } from "./due-assignments.ts";
import {
  assignmentNameInput,
  createAssignmentInput,
  listAssignmentsInput,
  updateAssignmentInput,
  type Assignment,
  type AssignmentDetail,
} from "./schemas.ts";

/** Modules as an assignment keeps them. */
function toModules(references: readonly string[]): Pick<AssignmentDocument, "modules" | "pins"> {
  const { names, pins } = parseReferences(references);
  return { modules: names, ...(Object.keys(pins).length > 0 && { pins }) };
}

type Stored = Pick<StoredDocument<AssignmentDocument>, "value" | "revision">;

/** Never that of an assignment that had its name before. */
function versionOf({ value, revision }: Stored): number {
  return (value.version_base ?? 0) + revision;
}

/** Named bindings of modules to the agents that a selector matches. Applying one is a verb of rollouts. */
export class Assignments {
  readonly #context: Context;
  readonly #service: AssignmentService;
  readonly #features: { agents: AgentService; modules: ModuleService };

  constructor(
    context: Context,
    service: AssignmentService,
    features: { agents: AgentService; modules: ModuleService },
  ) {
    this.#context = context;
    this.#service = service;
    this.#features = features;
  }

  /** Lists assignments by name. Values of params that a module keeps secret are "(sensitive)". */
  async list(caller: Caller, input: z.input<typeof listAssignmentsInput> = {}): Promise<Page<Assignment>> {
    await this.#context.authorize(caller, "assignments.list");
    const { limit = 50, cursor } = parseInput(listAssignmentsInput, input);
    const page = await this.#context.storage.list<AssignmentDocument>("assignments", {
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("assignments", {}, cursor)) }),
    });
    return {
      items: await Promise.all(page.items.map(async (item) => this.#hide(await this.#toAssignment(item)))),
      next_cursor: page.next === null ? null : encodeCursor("assignments", {}, page.next),
    };
  }

  /**
   * Reads an assignment with the agents that it matches now. Who may not change assignments gets "(sensitive)" in the place of the values
   * of params that a module keeps secret.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof assignmentNameInput>): Promise<AssignmentDetail> {
    await this.#context.authorize(caller, "assignments.get");
    const stored = await this.#service.read(parseInput(assignmentNameInput, input).name);
    const matched = this.#service.matchedAgents(stored.value);
    const applied = await this.#features.agents.appliedModules.revisionsOf(stored.value.modules);
    const matchedAgents = await Promise.all(
      matched.map(async (nodeId) => ({
        node_id: nodeId,
        name: await this.#features.agents.nameOf(nodeId),
        revision_applied: Object.fromEntries(applied.get(nodeId) ?? []),
      })),
    );
    const assignment = await this.#toAssignment(stored);
    const shown = allows(caller, "assignments.update") ? assignment : await this.#hide(assignment);
    return { ...shown, matched_agents: matchedAgents };
  }

  /**
   * Creates an assignment. Nothing is applied by it.
   *
   * @throws {OrchestratorError} `SELECTOR_INVALID`; `NOT_FOUND` for an unknown module or revision; `RESOURCE_CONFLICT` where two of
   * its modules contradict each other, or one contradicts that of another assignment on an agent that both match, which brings it in
   * another revision or with other params, too;
   * `VALIDATION_FAILED`, also for a schedule that never comes, and for params that its
   * modules do not declare or that are missing; `TEMPLATE_FAILED` where they make a resource that is none; `UNKNOWN_RESOURCE_TYPE`
   * where a module has a type that the orchestrator was not given again; `ALREADY_EXISTS`.
   */
  async create(caller: Caller, input: z.input<typeof createAssignmentInput>): Promise<Assignment> {
    await this.#context.authorize(caller, "assignments.create");
    const parsed = parseInput(createAssignmentInput, input);
    const { description, params, rollout, schedule, enforce, unattended_removals, managed_by, ...fields } =
      parsed;
    const document: AssignmentDocument = {
      ...fields,
      ...toModules(fields.modules),
      ...(description !== undefined && { description }),
      ...(params && { params }),
      ...(rollout && { rollout }),
      ...(schedule && { schedule }),
      ...(enforce !== undefined && { enforce }),
      ...(unattended_removals !== undefined && { unattended_removals }),
      ...(managed_by && { managed_by }),
      selector: this.#service.selectors.toKept(fields.selector),
      created_at: this.#context.timestamp(),
      created_by: toSubject(caller).name,
    };
    return retryOnConflict(() => this.#create(caller, document));
  }

  async #create(caller: Caller, document: AssignmentDocument): Promise<Assignment> {
    try {
      return await this.#write(caller, null, document);
    } catch (error) {
      // Else it was a module that changed meanwhile.
      if (!isOrchestratorError(error, "REVISION_CONFLICT") || error.details["collection"] !== "assignments")
        throw error;
      throw new OrchestratorError("ALREADY_EXISTS", {
        message: `An assignment ${document.name} exists.`,
        cause: error,
      });
    }
  }

  /**
   * Changes an assignment; what is absent stays, and `null` takes a strategy or a schedule away. Nothing is applied by it.
   *
   * @throws {OrchestratorError} As {@link create}, `NOT_FOUND` for the assignment itself, and `PRECONDITION_FAILED`.
   */
  async update(
    caller: Caller,
    input: z.input<typeof updateAssignmentInput>,
    options?: ChangeOptions,
  ): Promise<Assignment> {
    await this.#context.authorize(caller, "assignments.update");
    const parsed = parseInput(updateAssignmentInput, input);
    const { name, description, selector, modules, params, rollout, schedule } = parsed;
    const { enforce, unattended_removals } = parsed;
    const changes = {
      ...(description !== undefined && { description }),
      ...(selector !== undefined && { selector: this.#service.selectors.toKept(selector) }),
      ...(params !== undefined && { params }),
      ...(rollout && { rollout }),
      ...(schedule && { schedule }),
      ...(enforce !== undefined && { enforce }),
      ...(unattended_removals !== undefined && { unattended_removals }),
    };
    return retryOnConflict(async () => {
      const stored = await this.#service.read(name);
      requireVersion({ revision: versionOf(stored) }, options);
      const document = managedAfter<AssignmentDocument>({ ...stored.value, ...changes }, parsed.managed_by);
      if (modules !== undefined) {
        delete document.pins;
        Object.assign(document, toModules(modules));
      }
      if (rollout === null) delete document.rollout;
      if (schedule === null) delete document.schedule;
      return this.#write(caller, stored, document);
    });
  }

  /**
   * Removes an assignment. Machines keep what it applied until their next apply of everything, or of an assignment that was created under
   * its name since; the plan of either shows the removals.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof assignmentNameInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "assignments.remove");
    const { name } = parseInput(assignmentNameInput, input);
    await retryOnConflict(async () => {
      const stored = await this.#service.read(name);
      const version = versionOf(stored);
      requireVersion({ revision: version }, options);
      const removal: Write = {
        kind: "delete",
        collection: "assignments",
        key: name,
        expected: stored.revision,
      };
      const event = this.#event("assignment.removed", stored.value);
      await this.#service.agreement.guardRemoval(name, version, async (also) => {
        const due = await this.#service.due.change(stored.value, null);
        await this.#requireStill(stored);
        await this.#context.commit(answering(caller), [removal, ...due, ...also], event);
      });
    });
  }

  /** Resolves with the answer, for which nothing is read once it is written: who could not be answered would think that nothing was. */
  async #write(
    caller: Caller,
    before: StoredDocument<AssignmentDocument> | null,
    document: AssignmentDocument,
  ): Promise<Assignment> {
    const place = { kind: "put", collection: "assignments", key: document.name } as const;
    const expected = before?.revision ?? 0;
    const event = this.#event(before ? "assignment.updated" : "assignment.created", document);
    const states = { before: before?.value ?? null, after: document };
    const answer = await this.#service.agreement.guard(states, async (also, base) => {
      const value: AssignmentDocument = { ...document, ...(base > 0 && { version_base: base }) };
      const put: Write = { ...place, value: toJsonObject(value), expected };
      const due = await this.#service.due.change(before?.value ?? null, document);
      const view = await this.#view(
        { value, revision: expected + 1 },
        await nextAfter(due, () => this.#service.due.nextOf(document.name)),
      );
      if (before) await this.#requireStill(before);
      await this.#context.commit(answering(caller, view), [put, ...due, ...also], event);
      return view;
    });
    this.#service.due.changed();
    return answer;
  }

  /** One that was made under the name of one that went while its change waited for its turn has its revision, and never its version. */
  async #requireStill(before: Stored): Promise<void> {
    const { name } = before.value;
    if (versionOf(await this.#service.read(name)) === versionOf(before)) return;
    throw new OrchestratorError("REVISION_CONFLICT", { details: { collection: "assignments", key: name } });
  }

  #event(
    type: Extract<EventType, `assignment.${string}`>,
    { name, selector, modules, pins }: Readonly<AssignmentDocument>,
  ): EventInput {
    return {
      type,
      target: { type: "assignment", id: name, name },
      summary: `Assignment ${name} was ${type.slice("assignment.".length)}`,
      metadata: { selector, modules: printReferences(modules, pins) },
    };
  }

  async #hide(assignment: Assignment): Promise<Assignment> {
    const { modules, params } = assignment;
    if (!params) return assignment;
    const use = { ...toModules(modules), params };
    return { ...assignment, params: await this.#features.modules.hideValues(use) };
  }

  async #toAssignment(stored: Stored): Promise<Assignment> {
    return this.#view(stored, await this.#service.due.nextOf(stored.value.name));
  }

  async #view(stored: Stored, next: number | null): Promise<Assignment> {
    const { pins: _pins, version_base: _base, ...document } = stored.value;
    const { created_at, created_by, enforce = false, unattended_removals = false, ...asked } = document;
    return {
      ...asked,
      modules: printReferences(document.modules, stored.value.pins),
      revisions: await this.#service.broughtNow(stored.value),
      ...(next !== null && { next_run_at: toTimestamp(next) }),
      enforce,
      unattended_removals,
      created_at,
      created_by,
      matches: this.#service.matchedAgents(document).length,
      version: versionOf(stored),
    };
  }
}
