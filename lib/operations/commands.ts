/** What agents are sent about operations. Until when each counts is a fleet time, which agents learn with each connection. */
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { Turns } from "../internal/turns.ts";
import type { SealedSecrets } from "../secret-format/sealed-secrets.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { OrchestratorMessage } from "../wire/messages.ts";
import type { OperationDocument } from "./documents.ts";
import type { Snapshots } from "./snapshots.ts";
import type { ToldSecrets } from "./told-secrets.ts";

type Operation = Readonly<OperationDocument>;

/** How long an acknowledgement or a cancel counts: longer than both sides' counts can part while a connection lives. */
const noticeMs = 300_000;

/** A time that is over for every agent, also for one that was told another. */
const overMs = 0;

/** Makes the messages about operations, and sends them in turns. */
export class Commands {
  readonly #context: Context;
  readonly #snapshots: Snapshots;
  readonly #secrets: SecretService;
  readonly #told: ToldSecrets;
  readonly #turns: Turns;

  constructor(
    context: Context,
    parts: { snapshots: Snapshots; secrets: SecretService; told: ToldSecrets; turns: Turns },
  ) {
    this.#context = context;
    this.#snapshots = parts.snapshots;
    this.#secrets = parts.secrets;
    this.#told = parts.told;
    this.#turns = parts.turns;
  }

  /** A new id of a command. */
  nextId(): string {
    return this.#context.ids.next();
  }

  /**
   * Has an agent carry an operation out, until its deadline; one that knows it tells what it knows.
   *
   * @throws {OrchestratorError} What `SecretService.seal` throws: the agent may not have a secret that it needs.
   */
  async run(id: string, operation: Operation): Promise<boolean> {
    if (operation.kind === "forget") return this.#forget(id, operation, operation.deadline_at ?? 0);
    const { operation_id, timeout_seconds, skip_reasons, deadline_at = 0 } = operation;
    // No copy: the list itself is what its canonical text is remembered by.
    const resources = (await this.#snapshots.load(operation.snapshot)) as ResolvedResource[];
    const not_after = toTimestamp(deadline_at);
    const secrets = operation.has_secrets ? await this.#seal(operation, resources) : null;
    const run = { id, operation_id, timeout_seconds, resources, not_after, ...(secrets && { secrets }) };
    return this.#sendRun(operation, { ...run, ...(skip_reasons && { skip_reasons }) });
  }

  async #seal(
    { node_id: nodeId, operation_id: operationId, kind }: Operation,
    resources: readonly ResolvedResource[],
  ): Promise<SealedSecrets | null> {
    // First: the agent may have it already, and tells of it also where it may not be given the secrets any more.
    await this.#told.begin(operationId, resources);
    return this.#secrets.seal({ nodeId, operationId, resources, isCheck: kind === "check" });
  }

  /**
   * Asks an agent what it knows of an operation. It is the command whose time is over: an agent of any version sends the result
   * that it has, or refuses, and begins nothing.
   */
  ask(id: string, operation: Operation): Promise<boolean> {
    if (operation.kind === "forget") return this.#forget(id, operation, overMs);
    const { operation_id, timeout_seconds } = operation;
    const not_after = toTimestamp(overMs);
    return this.#sendRun(operation, { id, operation_id, timeout_seconds, resources: [], not_after });
  }

  /** Has an agent stop an operation: a script that runs is ended, any other change in progress finished. */
  cancel(id: string, { node_id, operation_id }: Operation): Promise<boolean> {
    return this.#send(node_id, { type: "cancel", id, operation_id, not_after: this.#noticeEnd() });
  }

  /** Tells an agent that it may forget the result of an operation. */
  acknowledge(nodeId: string, operationId: string): Promise<boolean> {
    const notAfter = this.#noticeEnd();
    return this.#send(nodeId, {
      type: "ack",
      id: this.nextId(),
      operation_id: operationId,
      not_after: notAfter,
    });
  }

  #forget(id: string, { node_id, operation_id, names = [] }: Operation, untilMs: number): Promise<boolean> {
    const not_after = toTimestamp(untilMs);
    return this.#send(node_id, { type: "forget", id, operation_id, names: [...names], not_after });
  }

  #noticeEnd(): string {
    return toTimestamp(this.#context.fleetTime.now() + noticeMs);
  }

  #sendRun(
    { node_id, kind, scope, allow_empty, max_removals, hold_removals, plan_digest }: Operation,
    command: Omit<Extract<OrchestratorMessage, { type: "check" }>, "type">,
  ): Promise<boolean> {
    if (kind === "check" || kind === "forget") return this.#send(node_id, { type: "check", ...command });
    if (kind === "run") return this.#send(node_id, { type: kind, ...command });
    const scoped = { ...command, ...(scope && { scope: [...scope] }) };
    if (kind === "plan") return this.#send(node_id, { type: kind, ...scoped });
    return this.#send(node_id, {
      type: kind,
      ...scoped,
      allow_empty,
      ...(max_removals !== undefined && { max_removals }),
      ...(hold_removals && { hold_removals }),
      ...(plan_digest !== undefined && { plan_digest }),
    });
  }

  /** False where the agent has just gone, or is not approved any more. That is no fault: it gets the message when it may. */
  async #send(nodeId: string, message: OrchestratorMessage): Promise<boolean> {
    await this.#turns.next();
    try {
      await this.#context.transport.send(nodeId, message);
      return true;
    } catch (error) {
      const isAway = isOrchestratorError(error, "AGENT_OFFLINE");
      if (!isAway && !isOrchestratorError(error, "AGENT_NOT_APPROVED")) throw error;
      this.#context.logger.debug("A message could not be sent.", { node_id: nodeId, type: message.type });
      return false;
    }
  }
}
