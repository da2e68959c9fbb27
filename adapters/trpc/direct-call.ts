/**
 * Calls a procedure of a router by itself, for surfaces other than tRPC's own.
 *
 * tRPC runs every call through a chain that copies its options twice a link; four links cost more than everything else in
 * a small request (test/bench/rest.ts prints both). A chain of nothing but input, output, resolver and links that are
 * marked transparent is therefore taken apart once, at start, and called directly. Any other chain runs as tRPC runs it.
 * The two ways give the same results; a test holds them together.
 */
import { callTRPCProcedure, TRPCError } from "@trpc/server";
import type { AnyRouter, AnyProcedure } from "@trpc/server";

/** Validates, runs and validates again; rejects with what was thrown, or with a `TRPCError`. */
export type ProcedureCall = (context: object, input: unknown, signal?: AbortSignal) => Promise<unknown>;

/** A call in its two halves. */
export interface PreparedCall {
  /** Validates the input and runs; what it resolves with must not be shown before `toOutput` has seen it. */
  run: ProcedureCall;
  /** Validates what `run` resolved with, and leaves out what the output schema does not name. */
  toOutput(answer: unknown): unknown;
  /** The output schema; null where there is none, or where `run` does all by itself. */
  schema: unknown;
}

type Middleware = ((options: unknown) => unknown) & { _type?: string };

/** The Standard Schema interface, which zod has; only what is used here. */
interface StandardSchema {
  "~standard": { validate(value: unknown): ValidationResult | Promise<ValidationResult> };
}
type ValidationResult = { issues?: undefined; value: unknown } | { issues: readonly unknown[] };

/** What tRPC keeps of a procedure and does not show in its types. */
interface ProcedureInternals {
  middlewares: readonly Middleware[];
  inputs: readonly StandardSchema[];
  output?: StandardSchema;
  resolver?: (options: object) => unknown;
}

const transparent = Symbol("transparent");

/** The same middleware, which adds nothing where errors are read with `toOrchestratorError`, so that a direct call may leave it out. */
export function asTransparent<Link extends object>(middleware: Link): Link {
  return Object.assign(middleware, { [transparent]: true });
}

/** Prepares calls of the procedure at this path (`agents.list`) of a router. */
export function prepareCall(router: AnyRouter, path: string, procedure: AnyProcedure): PreparedCall {
  const internals = procedure._def as unknown as Partial<ProcedureInternals>;
  const direct = directCall(internals, { path, type: procedure._def.type });
  return direct ?? { run: chainCall(router, path, procedure), toOutput: (answer) => answer, schema: null };
}

/** The same in one piece. */
export function createProcedureCall(router: AnyRouter, path: string, procedure: AnyProcedure): ProcedureCall {
  const { run, toOutput } = prepareCall(router, path, procedure);
  return async (context, input, signal) => toOutput(await run(context, input, signal));
}

/** Calls through tRPC's own chain. */
export function chainCall(router: AnyRouter, path: string, procedure: AnyProcedure): ProcedureCall {
  const { type } = procedure._def;
  return (ctx, input, signal) =>
    callTRPCProcedure({
      router,
      path,
      ctx,
      type,
      getRawInput: async () => input,
      signal,
      batchIndex: 0,
    });
}

/** A call without the chain, or null where the chain holds a link of its own. */
function directCall(
  internals: Partial<ProcedureInternals>,
  { path, type }: { path: string; type: string },
): PreparedCall | null {
  const { middlewares, inputs, output, resolver } = internals;
  if (middlewares === undefined || inputs === undefined || resolver === undefined) return null;
  // The last link is tRPC's own around the resolver.
  const plain = middlewares
    .slice(0, -1)
    .every((link) => link._type === "input" || link._type === "output" || transparent in link);
  if (!plain || inputs.length > 1) return null;
  const [schema] = inputs;
  if ((schema !== undefined && !isStandard(schema)) || (output !== undefined && !isStandard(output)))
    return null;
  return {
    schema: output ?? null,
    async run(ctx, rawInput, signal) {
      const input = schema === undefined ? undefined : await validate(schema, rawInput, "BAD_REQUEST");
      // Written out: spreading an object here took longer than both validations. Awaited: a promise that an async
      // function returns takes three steps to settle, not one.
      return await resolver({ path, type, ctx, input, signal, batchIndex: 0 });
    },
    toOutput: (answer) => (output === undefined ? answer : validate(output, answer, "INTERNAL_SERVER_ERROR")),
  };
}

function isStandard(schema: object): boolean {
  return "~standard" in schema;
}

function validate(
  schema: StandardSchema,
  value: unknown,
  code: "BAD_REQUEST" | "INTERNAL_SERVER_ERROR",
): unknown {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then((later) => accept(later, code)) : accept(result, code);
}

function accept(result: ValidationResult, code: "BAD_REQUEST" | "INTERNAL_SERVER_ERROR"): unknown {
  if (result.issues === undefined) return result.value;
  throw new TRPCError({ code, message: "Validation failed", cause: new SchemaFaults(result.issues) });
}

/** Carries what a schema found, as zod's own error does. */
class SchemaFaults extends Error {
  readonly issues: readonly unknown[];

  constructor(issues: readonly unknown[]) {
    super("Validation failed");
    this.name = "SchemaFaults";
    this.issues = issues;
  }
}
