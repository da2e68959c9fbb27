/** Finds what answers a path. A literal segment wins over a parameter; a trailing slash or an empty segment matches nothing. */

interface Node<Route> {
  literals: Map<string, Node<Route>>;
  parameter: Node<Route> | null;
  methods: Map<string, Route> | null;
}

/** What stands at a path. */
export interface RouteMatch<Route> {
  /** By HTTP method. */
  methods: ReadonlyMap<string, Route>;
  /** The parameters in the order of the path, still percent-encoded. */
  values: readonly string[];
}

/** Routes by path template (`/agents/{node_id}/tags/{key}`) and method. */
export class RouteTable<Route> {
  readonly #root: Node<Route> = emptyNode();
  // Paths without parameters, found in one step.
  readonly #fixed = new Map<string, RouteMatch<Route>>();

  /** Adds a route. Two routes with one method and one form of path are a mistake of the program: throws. */
  add(template: string, method: string, route: Route): void {
    let node = this.#root;
    for (const segment of template.split("/").slice(1)) {
      node = isParameter(segment) ? (node.parameter ??= emptyNode()) : literalChild(node, segment);
    }
    node.methods ??= new Map();
    if (node.methods.has(method)) throw new Error(`Two procedures answer ${method} ${template}.`);
    node.methods.set(method, route);
    if (!template.includes("{")) this.#fixed.set(template, { methods: node.methods, values: [] });
  }

  /** Finds what stands at a path; null where nothing does. */
  find(path: string): RouteMatch<Route> | null {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    const segments = path.split("/");
    const values: string[] = [];
    const node = descend(this.#root, { segments, values }, 1);
    return node?.methods ? { methods: node.methods, values } : null;
  }
}

function descend<Route>(
  node: Node<Route>,
  walk: { segments: readonly string[]; values: string[] },
  depth: number,
): Node<Route> | null {
  const segment = walk.segments[depth];
  if (segment === undefined) return node.methods === null ? null : node;
  const literal = node.literals.get(segment);
  const found = literal === undefined ? null : descend(literal, walk, depth + 1);
  if (found !== null || node.parameter === null || segment === "") return found;
  const taken = walk.values.push(segment);
  const below = descend(node.parameter, walk, depth + 1);
  if (below === null) walk.values.length = taken - 1;
  return below;
}

function literalChild<Route>(node: Node<Route>, segment: string): Node<Route> {
  let child = node.literals.get(segment);
  if (child === undefined) node.literals.set(segment, (child = emptyNode()));
  return child;
}

function emptyNode<Route>(): Node<Route> {
  return { literals: new Map(), parameter: null, methods: null };
}

function isParameter(segment: string): boolean {
  return segment.startsWith("{") && segment.endsWith("}");
}
