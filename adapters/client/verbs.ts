/** The calls of the REST surface by name: routes.ts and routed-verbs.ts say which there are, and come from the router. */
import type { CallOptions, RequestExtras } from "./http.ts";
import type { Output } from "./inputs.ts";
import type { RoutedVerbs } from "./routed-verbs.ts";
import { routes } from "./routes.ts";
import type { Route } from "./routes.ts";
import { createStreams } from "./streams.ts";
import type { Streams, Watch } from "./streams.ts";

/** Calls the server. */
export type Call = <Result>(method: string, path: string, extras?: RequestExtras) => Promise<Result>;

/** Who is signed in, and until when. */
export type SessionInfo = Output<"sessionInfoSchema">;

/** An uploaded module; `created` says whether the content was new. */
export type UploadedModule = Output<"uploadedModuleSchema">;

/** Calls by feature. */
export type Verbs = RoutedVerbs & Streams;

type Fields = Record<string, unknown>;

/** Gives each call its name. */
export function createVerbs(call: Call, watch: Watch): Verbs {
  const verbs: Record<string, object> = { ...createStreams(watch) };
  for (const [group, inside] of Object.entries(routes)) {
    const calls = Object.entries<Route>(inside).map(([name, route]) => [name, toVerb(call, route)]);
    verbs[group] = { ...verbs[group], ...Object.fromEntries(calls) };
  }
  return verbs as unknown as Verbs;
}

/** Takes the first value of the path, then the rest of the input, then options. */
function toVerb(call: Call, { method, path, input, asStream }: Route) {
  const [first, ...others] = [...path.matchAll(/\{(\w+)\}/g)].map(([, field = ""]) => field);
  return async (...given: unknown[]): Promise<unknown> => {
    const values: Fields = first === undefined ? {} : { [first]: given.shift() };
    let rest = input === undefined ? undefined : (given.shift() as Fields | undefined);
    if (others.length > 0) rest = takeInto(values, others, rest);
    return call(method, fill(path, values), {
      ...(given[0] as CallOptions | undefined),
      ...(input !== undefined && { [input]: rest }),
      ...(asStream && { asStream }),
    });
  };
}

/** Moves fields of an input to the values of a path; returns what is left of it. */
function takeInto(values: Fields, fields: readonly string[], input: Fields = {}): Fields | undefined {
  for (const field of fields) values[field] = input[field];
  const left = Object.entries(input).filter(([field]) => !fields.includes(field));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** Puts values into a path, each as one part of it. */
function fill(path: string, values: Fields): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = String(values[field] ?? "");
    // A URL loses these parts, however they are written, and would name something else.
    if (value === "" || value === "." || value === "..")
      throw new TypeError(`${field} can't be ${JSON.stringify(value)}.`);
    return encodeURIComponent(value);
  });
}
