/** What is written from the router: where the client's verbs go, their types, and the table of docs/rest.md. */
import { format } from "prettier";
import { permissionTable, schemas } from "fleetwright";
import type { Permission } from "fleetwright";
import { inputFields, inputSchema } from "../../adapters/rest/parameters.ts";
import { pathFields, verbs, type Verb } from "./router-verbs.ts";
import { readText } from "./source-tree.ts";

/** Those that are one request each, by group. */
const routed = new Map<string, Verb[]>();
for (const verb of verbs) {
  if (verb.isStream || verb.byHand !== undefined) continue;
  routed.set(verb.group, [...(routed.get(verb.group) ?? []), verb]);
}

const notice = "Written from the router by a test: `npm run generate`.";

/** adapters/client/routes.ts. */
export function renderRoutes(): Promise<string> {
  const groups = [...routed].map(([group, inside]) => {
    const lines = inside.map((verb) => {
      const { method, path, produces } = verb.rest;
      const place = inputFieldsOf(verb).length > 0 ? `, input: "${inputPlace(verb)}"` : "";
      return `${verb.name}: { method: "${method}", path: "${path}"${place}${produces ? ", asStream: true" : ""} },`;
    });
    return `${group}: {\n${lines.join("\n")}\n},`;
  });
  return format(
    `/** Where each verb of the client goes. ${notice} */
    import type { RoutedVerbs } from "./routed-verbs.ts";

    /** Where one verb goes. */
    export interface Route {
      method: string;
      /** Below \`/api/v1\`. The first value in braces is given by itself, others with the rest of the input. */
      path: string;
      /** Where the rest of the input goes, but for what stands in the path; absent where there is none. */
      input?: "query" | "body";
      /** Whether the answer is bytes. */
      asStream?: true;
    }

    export const routes: { readonly [Group in keyof RoutedVerbs]: Readonly<Record<keyof RoutedVerbs[Group], Route>> } = {
    ${groups.join("\n")}
    };`,
    { parser: "typescript", printWidth: 110 },
  );
}

/** adapters/client/routed-verbs.ts: in the lines that are given, as a signature in pieces makes it twice as long. */
export function renderVerbs(): string {
  const groups = [...routed].map(([group, inside]) => {
    const lines = inside.flatMap(signature).map((line) => `    ${line}\n`);
    return `  ${group}: {\n${lines.join("")}  };\n`;
  });
  return `/** The verbs of the client, but for streams and signing in. ${notice} */
import type { CallOptions } from "./http.ts";
import type { Input, Output } from "./inputs.ts";

/** Verbs by feature, each of which is one request. */
// prettier-ignore
export interface RoutedVerbs {
${groups.join("")}}
`;
}

function signature(verb: Verb): string[] {
  const { procedure, name, rest } = verb;
  const [first] = pathFields(verb);
  const parameters = first === undefined ? [] : [`${toCamel(first)}: string`];
  const fields = inputFieldsOf(verb);
  if (fields.length > 0) {
    const type = [nameOf(inputSchema(procedure)), first].flatMap((each) => (each ? `"${each}"` : []));
    const isOptional = fields.every(([, field]) => isOptionalSchema(field));
    parameters.push(`input${isOptional ? "?" : ""}: Input<${type.join(", ")}>`);
  }
  parameters.push("options?: CallOptions");
  const text = `${rest.summary}. ${rest.description}`.replaceAll("*/", "*\\/");
  return [...comment(text), `${name}: (${parameters.join(", ")}) => Promise<${answer(verb)}>;`];
}

function answer({ procedure, rest }: Verb): string {
  if (rest.produces !== undefined) return "ReadableStream<Uint8Array>";
  const { output } = procedure._def as unknown as { output: unknown };
  return output === schemas.nothingSchema ? "null" : `Output<"${nameOf(output)}">`;
}

/** Broken at spaces, for readers of the source. */
function comment(text: string): string[] {
  const lines = text.match(/.{1,125}(?:\s|$)/g)!.map((line) => ` * ${line.trim()}`);
  return lines.length === 1 ? [`/** ${text} */`] : ["/**", ...lines, " */"];
}

const schemaNames = new Map(Object.entries(schemas).map(([name, schema]) => [schema as unknown, name]));

function nameOf(schema: unknown): string {
  const name = schemaNames.get(schema);
  if (name === undefined) throw new Error("A procedure has a schema that lib/schemas.ts does not export.");
  return name;
}

/** The fields of the input but for the first that stands in the path. */
function inputFieldsOf(verb: Verb): [name: string, schema: unknown][] {
  const [first] = pathFields(verb);
  return [...inputFields(verb.procedure)].filter(([field]) => field !== first);
}

function inputPlace({ rest }: Verb): "query" | "body" {
  return ["GET", "DELETE"].includes(rest.method) ? "query" : "body";
}

function isOptionalSchema(schema: unknown): boolean {
  return (schema as { safeParse(value: unknown): { success: boolean } }).safeParse(undefined).success;
}

function toCamel(field: string): string {
  return field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

const page = "docs/rest.md";

/** docs/rest.md with its table as the router says it. */
export async function renderRestDocs(): Promise<string> {
  const text = readText(page) ?? "";
  const start = text.search(/^\| Request +\|/m);
  const after = text.slice(start).replace(/^(\|.*\n)+/, "");
  const rows = verbs.map(({ permission, group, name, rest, byHand }) => {
    const role = permissionTable[permission as Permission];
    const call = byHand ?? `${group}.${name}()`;
    const cells = [
      `\`${rest.method} ${rest.path}\``,
      `\`${permission}\``,
      `\`client.${call}\``,
      role,
      rest.summary,
    ];
    return `| ${cells.join(" | ")} |\n`;
  });
  const head = "| Request | Verb | Client | Least role | What it does |\n| - | - | - | - | - |\n";
  return text.slice(0, start) + (await format(head + rows.join(""), { parser: "markdown" })) + after;
}
