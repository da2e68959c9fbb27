/** What the calls take and answer, read off the schemas that the server checks them with. Types alone: no schema is loaded. */
import type { z } from "zod";
import type { EventPattern, schemas } from "fleetwright";

type Schemas = typeof schemas;

/** Names of the schemas of inputs. */
type InputName = Extract<keyof Schemas, `${string}Input`>;

/** A value that is only read: its lists may be read-only ones. Any JSON stays as it is; it contains itself. */
type Unchanged<Value> = [z.infer<z.ZodJSONSchema>] extends [Value]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Unchanged<Value[Key]> }
    : Value;

type Whole<Name extends InputName> = Unchanged<z.input<Schemas[Name]>>;

/** What a schema takes, without the fields that a call takes by themselves because they stand in its path. */
export type Input<Name extends InputName, InPath extends keyof Whole<Name> = never> = Omit<
  Whole<Name>,
  InPath
>;

/** What the server answers with by a schema. */
export type Output<Name extends Exclude<keyof Schemas, InputName>> = z.output<Schemas[Name]>;

/** Somebody who may sign in from now on; without a role an Operator. */
export type NewOperator = Input<"addOperatorInput">;
/** Approval or rejection of an agent. */
export type StatusChange = Input<"setStatusInput", "node_id">;
/** For how long a call waits for the end: `wait_seconds`, 0-300, default 30. */
export type WaitInput = Input<"checkDriftInput", "node_id">;
/** What a plan of one agent may be told. */
export type PlanInput = Input<"planInput", "node_id">;
/**
 * What an apply of one agent may be told. `wait_seconds` is 0-300, default 30; only with `allow_empty` may everything that was applied be
 * removed; `plan_id` has exactly that plan carried out, or nothing.
 */
export type RunInput = Input<"applyInput", "node_id">;
/** An assignment to be created. */
export type NewAssignment = Input<"createAssignmentInput">;
/** A change of an assignment: what is absent stays as it is, and null takes away. */
export type AssignmentChange = Input<"updateAssignmentInput", "name">;
/** Which events of a stream. */
export type EventFilter<Pattern extends EventPattern = EventPattern> = Input<
  "eventStreamInput",
  "lastEventId" | "types"
> & {
  /** Types, or all of a kind as in `agent.*`. Default all. */
  readonly types?: readonly Pattern[] | undefined;
};
