/**
 * Makes the nodes of a YAML document piece by piece, because the package makes all of them in one go: what is large is
 * taken out and an empty list or map put in its place, and long lists and maps are cut into short ones.
 */
import type { Composer, CST, Pair, ParsedNode } from "yaml";
import type { Work, WorkBudget } from "../internal/work.ts";
import { yamlPackage } from "./packages.ts";

/** What is wrong with the text, at an offset of it. */
export interface NodeFault {
  message: string;
  offset: number;
}

/** The nodes of a text. */
export interface Composed {
  /** Of the first document; null where it is empty. */
  contents: ParsedNode | null;
  faults: NodeFault[];
  /** Whether it says which version of YAML it is. */
  hasVersion: boolean;
  /** Where a second document begins; null where there is none. */
  second: number | null;
}

type Collection = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;
type Item = CST.CollectionItem;

/** Tokens of a piece, about. */
const pieceSize = 400;

/** Tokens from which on a list or map is taken out of the piece that it stands in. */
const ownPieceSize = 100;

/** After so many faults nothing more is looked at: a hostile text has one in each character. */
const mostFaults = 1000;

/** What making the nodes of a token, and looking at it, cost, in steps. */
const [nodeCost, lookCost] = [30, 2];

/**
 * Makes the nodes of a text. Lists and maps within each other deeper than `depth` are a fault, and nothing is made then.
 *
 * @param length - Of the text, characters.
 */
export function* composeTokens(
  tokens: readonly CST.Token[],
  { length, depth, tooDeep }: { length: number; depth: number; tooDeep: string },
  budget: WorkBudget,
): Work<Composed> {
  const sizes = new Map<CST.Token, number>();
  const document = tokens.find((token) => token.type === "document");
  const deep = document && (yield* measure(document, { sizes, depth, budget }));
  const faults = deep ? [{ message: tooDeep, offset: deep.offset }] : [];
  if (deep) return { contents: null, faults, hasVersion: false, second: null };
  return yield* new PieceComposer(sizes, budget).text(tokens, length);
}

/** Counts the tokens below each list and map; returns the first that is too deep. */
function* measure(
  document: CST.Document,
  { sizes, depth, budget }: { sizes: Map<CST.Token, number>; depth: number; budget: WorkBudget },
): Work<Collection | null> {
  const open: { token: Collection; at: number; size: number }[] = [];
  const enter = (token: CST.Token | null | undefined): void => {
    if (isCollectionToken(token)) open.push({ token, at: 0, size: 1 });
  };
  enter(document.value);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (open.length > depth) return top.token;
    budget.spend(lookCost);
    if (budget.isSliceOver()) yield;
    const part = partOf(top.token, top.at);
    // Signs before a part may be many.
    if (top.at % 2 === 0) top.size += top.token.items[top.at >> 1]?.start.length ?? 0;
    top.at += 1;
    if (part === undefined) {
      open.pop();
      sizes.set(top.token, top.size);
      const holder = open.at(-1);
      if (holder) holder.size += top.size;
    } else {
      top.size += 1;
      enter(part);
    }
  }
  return null;
}

/** Keys and values of a list or map by their number; undefined past the last. */
function partOf({ items }: Collection, at: number): CST.Token | null | undefined {
  const item = items[at >> 1];
  if (item === undefined) return undefined;
  return (at % 2 === 0 ? item.key : item.value) ?? null;
}

class PieceComposer {
  readonly #sizes: ReadonlyMap<CST.Token, number>;
  readonly #budget: WorkBudget;
  readonly #faults = new Map<string, NodeFault>();
  /** What was taken out, by what stands in its place. */
  readonly #taken = new Map<unknown, Collection>();

  constructor(sizes: ReadonlyMap<CST.Token, number>, budget: WorkBudget) {
    this.#sizes = sizes;
    this.#budget = budget;
  }

  *text(tokens: readonly CST.Token[], length: number): Work<Composed> {
    const composer = createComposer();
    const documents: Made[] = [];
    for (const token of tokens) {
      // The package would make an error of each, however many they are.
      if (token.type === "error") this.#fault(sayingOf(token), token.offset);
      else documents.push(...composer.next(token.type === "document" ? this.#emptied(token) : token));
      if (documents.length > 1 || this.#isHopeless()) break;
      this.#budget.spend(nodeCost);
      if (this.#budget.isSliceOver()) yield;
    }
    if (documents.length < 2) documents.push(...composer.end(true, length));
    const [first, second] = documents;
    this.#note(first);
    return {
      contents: yield* this.#restore(first?.contents ?? null),
      faults: [...this.#faults.values()],
      hasVersion: first?.directives.yaml.explicit === true,
      second: second?.range[0] ?? null,
    };
  }

  #emptied(document: CST.Document): CST.Document {
    const { value } = document;
    return isCollectionToken(value) ? { ...document, value: this.#takeOut(value) } : document;
  }

  /** The nodes of a list or map. */
  *#compose(token: Collection): Work<ParsedNode | null> {
    const { isCollection } = yamlPackage();
    let whole: ParsedNode | null = null;
    for (const items of this.#cut(token)) {
      if (this.#isHopeless()) break;
      const piece = this.#make({ ...token, items } as Collection);
      this.#budget.spend(nodeCost * pieceSize);
      if (this.#budget.isSliceOver()) yield;
      yield* this.#fill(piece);
      if (!isCollection(whole)) whole = piece;
      else if (isCollection(piece)) for (const item of piece.items) (whole.items as unknown[]).push(item);
    }
    return whole;
  }

  /** Cuts the items of a list or map into pieces, and takes out what is large. */
  *#cut(token: Collection): Generator<Item[]> {
    const isFlow = token.type === "flow-collection";
    let piece: Item[] = [];
    let size = 0;
    for (const [at, item] of token.items.entries()) {
      if (this.#isHopeless()) return;
      if (isFlow && isEmpty(item) && at < token.items.length - 1) {
        this.#fault("Unexpected empty item in a list or map.", item.start[0]?.offset ?? token.offset);
        continue;
      }
      if (size >= pieceSize) {
        yield piece;
        piece = [];
        size = 0;
      }
      const isCut = isFlow && at > 0 && piece.length === 0;
      const parted = this.#parted(isFlow ? this.#withOneComma(item) : item);
      size += 1 + this.#sizeOf(parted.key) + this.#sizeOf(parted.value);
      piece.push(beginning(isCut ? this.#withoutComma(parted, token) : parted));
    }
    yield piece;
  }

  /** An item without what is large in it. */
  #parted(item: Item): Item {
    const { key, value } = item;
    const [ownKey, ownValue] = [key, value].map((part) =>
      isCollectionToken(part) && this.#sizeOf(part) >= ownPieceSize ? this.#takeOut(part) : part,
    );
    return ownKey === key && ownValue === value
      ? item
      : ({ ...item, ...(key && { key: ownKey }), ...(value && { value: ownValue }) } as Item);
  }

  /** The package would make an error of each comma beside it, however many they are. */
  #withOneComma(item: Item): Item {
    const [, second, ...more] = item.start.filter(({ type }) => type === "comma");
    if (!second) return item;
    this.#fault("Unexpected , in a list or map.", second.offset);
    const surplus = new Set([second, ...more]);
    return { ...item, start: item.start.filter((token) => !surplus.has(token)) } as Item;
  }

  /** The first item of a piece has none before it. */
  #withoutComma(item: Item, { offset }: Collection): Item {
    const comma = item.start.findIndex(({ type }) => type === "comma");
    if (comma < 0)
      this.#fault("Missing , between items.", item.start[0]?.offset ?? item.value?.offset ?? offset);
    return { ...item, start: item.start.filter((_, at) => at !== comma) } as Item;
  }

  #sizeOf(token: CST.Token | null | undefined): number {
    return token ? (this.#sizes.get(token) ?? 1) : 0;
  }

  #takeOut(token: Collection): Collection {
    const empty = { ...token, items: [] } as Collection;
    this.#taken.set(empty, token);
    return empty;
  }

  /** Puts back, in a piece, what was taken out of it. Pieces are small. */
  *#fill(node: unknown): Work<void> {
    const { isCollection, isPair } = yamlPackage();
    if (isPair(node)) {
      const pair = node as Pair<ParsedNode, ParsedNode | null>;
      pair.value = yield* this.#restore(pair.value);
    } else if (isCollection(node)) {
      for (const [at, item] of node.items.entries())
        node.items[at] = isPair(item)
          ? (yield* this.#fill(item), item)
          : yield* this.#restore(item as ParsedNode);
    }
  }

  *#restore(node: ParsedNode | null): Work<ParsedNode | null> {
    const token = node && this.#taken.get(node.srcToken);
    if (!token) {
      yield* this.#fill(node);
      return node;
    }
    const whole = yield* this.#compose(token);
    if (whole && node.anchor !== undefined) whole.anchor = node.anchor;
    if (whole && node.tag !== undefined) whole.tag = node.tag;
    return whole;
  }

  /** The nodes of a piece. */
  #make(value: Collection): ParsedNode | null {
    const composer = createComposer();
    const document: CST.Document = { type: "document", offset: value.offset, start: [], value };
    const [made] = [...composer.next(document), ...composer.end()];
    this.#note(made);
    return made?.contents ?? null;
  }

  #note(made: Made | undefined): void {
    for (const { message, pos } of made?.errors ?? []) this.#fault(message, pos[0]);
  }

  #isHopeless(): boolean {
    return this.#faults.size >= mostFaults;
  }

  /** Pieces that stand for one list may tell of the same twice. */
  #fault(message: string, offset: number): void {
    this.#faults.set(`${offset} ${message}`, { message, offset });
  }
}

type Made =
  ReturnType<ReturnType<typeof createComposer>["next"]> extends Generator<infer Document> ? Document : never;

function createComposer(): Composer {
  return new (yamlPackage().Composer)({
    uniqueKeys: false,
    prettyErrors: false,
    version: "1.2",
    logLevel: "silent",
    keepSourceTokens: true,
  });
}

function sayingOf({ message, source }: CST.ErrorToken): string {
  return source ? `${message}: ${JSON.stringify(source)}` : message;
}

/**
 * An item that says where it begins: the package would take the end of what stands before it, which is not there, and find a key
 * too far from its colon.
 */
function beginning(item: Item): Item {
  const first = item.key ?? item.sep?.[0] ?? item.value;
  if (item.start.length > 0 || !first) return item;
  return { ...item, start: [{ type: "space", offset: first.offset, indent: 0, source: "" }] } as Item;
}

function isEmpty({ start, key, sep, value }: Item): boolean {
  return !key && !sep && !value && !start.some(({ type }) => type === "anchor" || type === "tag");
}

function isCollectionToken(token: CST.Token | null | undefined): token is Collection {
  return token?.type === "block-map" || token?.type === "block-seq" || token?.type === "flow-collection";
}
