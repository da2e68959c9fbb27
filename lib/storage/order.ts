/**
 * The one order of all storages, so that a list pages alike on each: missing, null, booleans, numbers, texts, lists, objects.
 * Texts go by code point (as PostgreSQL's "C" collation does), lists and objects by their canonical JSON.
 */
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";

const ranks = { missing: 0, null: 1, boolean: 2, number: 3, string: 4, list: 5, object: 6 };

/** A place before every value of a JSON type, to bound a range that is open at one end. */
export class TypeEdge {
  /** Halfway between two types. */
  readonly rank: number;

  private constructor(rank: number) {
    this.rank = rank;
  }

  /** Before every value of the type of this one. */
  static before(value: Json): TypeEdge {
    return new TypeEdge(rankOf(value) - 0.5);
  }

  /** After every value of the type of this one. */
  static after(value: Json): TypeEdge {
    return new TypeEdge(rankOf(value) + 0.5);
  }
}

/** What an index is ordered by: a value, `undefined` for a field that a document lacks, or an edge in a bound. */
export type OrderValue = Json | undefined | TypeEdge;

/** Compares two values in the order of all storages. */
export function compareValues(a: OrderValue, b: OrderValue): number {
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  const byType = rankOf(a) - rankOf(b);
  if (byType !== 0 || a === b || a instanceof TypeEdge || b instanceof TypeEdge) return byType;
  if (typeof a === "boolean") return a ? 1 : -1;
  if (typeof a !== "object" || typeof b !== "object") return 0;
  return compareTexts(canonicalJson(a), canonicalJson(b));
}

/** Compares the first values of an index entry with a bound that may be shorter than it. */
export function compareWithBound(values: readonly OrderValue[], bound: readonly OrderValue[]): number {
  for (let i = 0; i < bound.length; i++) {
    const order = compareValues(values[i], bound[i]);
    if (order !== 0) return order;
  }
  return 0;
}

function rankOf(value: OrderValue): number {
  if (value === undefined) return ranks.missing;
  if (value === null) return ranks.null;
  if (value instanceof TypeEdge) return value.rank;
  if (Array.isArray(value)) return ranks.list;
  return ranks[typeof value as "boolean" | "number" | "string" | "object"];
}

function compareTexts(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointWeight(left) - codePointWeight(right);
  }
  return a.length - b.length;
}

/** UTF-16 puts surrogates (0xD800-0xDFFF) before U+E000-U+FFFF, although what they encode comes after. */
function codePointWeight(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
