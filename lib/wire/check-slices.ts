/** Parsed messages against their schemas: at once, or in slices where lists are long. */
import { z } from "zod";
import type { Work } from "../internal/work.ts";

/** What a check came to; `found` names at most five places, never values. */
export type Checked<Value> = { data: Value } | { found: string[] };

/** Messages that are told apart by their type. */
export type MessageSchema = z.ZodDiscriminatedUnion<readonly z.ZodObject[]>;

/** Members of a list that are checked in one slice: of results, each may have a thousand changes. */
const membersOfSlice = 8;

/** The schema stops at the first fault in a list or object: a message that is nothing but faults costs as little as one that has one. */
const stopsEarly: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** Checks a value at once. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  within?: { list: string; from: number },
): Checked<z.infer<Schema>> {
  try {
    const parsed = schema.safeParse(value, stopsEarly);
    if (parsed.success) return { data: parsed.data };
    return {
      found: parsed.error.issues
        .slice(0, 5)
        .map(({ path, code }) => `${(within ? inList(path, within) : path).join(".")}: ${code}`),
    };
  } catch {
    // More faults in one place than a call takes arguments.
    return { found: [": too_many"] };
  }
}

/** Checks a message: the members of its lists a few at a time, the rest at once. Comes to what {@link check} does, but for the faults that it names. */
export function* checkInSlices<Schema extends MessageSchema>(
  schema: Schema,
  value: unknown,
): Work<Checked<z.infer<Schema>>> {
  const taken: Record<string, unknown[]> = {};
  const emptied: Record<string, unknown[]> = {};
  for (const { name, list, listSchema } of longLists(schema, value)) {
    const members: unknown[] = [];
    for (let from = 0; from < list.length; from += membersOfSlice) {
      const result = check(listSchema, list.slice(from, from + membersOfSlice), { list: name, from });
      if ("found" in result) return result;
      members.push(...(result.data as unknown[]));
      yield;
    }
    taken[name] = members;
    emptied[name] = [];
  }
  // The lists are put back where they stood.
  const isCut = Object.keys(taken).length > 0;
  const rest = check(schema, isCut ? { ...(value as object), ...emptied } : value);
  return "found" in rest ? rest : { data: Object.assign(rest.data, taken) };
}

/** The path of a fault in a few members of a list. */
function inList(path: readonly PropertyKey[], { list, from }: { list: string; from: number }): PropertyKey[] {
  const [at = 0, ...rest] = path;
  return [list, Number(at) + from, ...rest];
}

interface LongList {
  name: string;
  list: unknown[];
  listSchema: z.ZodArray;
}

/** The lists of a message that are longer than a slice. */
function longLists(schema: MessageSchema, value: unknown): LongList[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const members = new Map(Object.entries(value));
  const option = schema.options.find(({ shape }) => shape["type"]?.safeParse(members.get("type")).success);
  return Object.entries(option?.shape ?? {}).flatMap(([name, listSchema]) => {
    const list: unknown = members.get(name);
    const isLong = Array.isArray(list) && list.length > membersOfSlice;
    // One that has too many members is refused as a whole.
    return isLong && listSchema instanceof z.ZodArray && list.length <= mostMembers(listSchema)
      ? [{ name, list, listSchema }]
      : [];
  });
}

function mostMembers({ _zod }: z.ZodArray): number {
  const limits = (_zod.def.checks ?? []).map(({ _zod: { def } }) => def);
  const most = limits.find((limit): limit is z.core.$ZodCheckMaxLengthDef => limit.check === "max_length");
  return most?.maximum ?? Infinity;
}
