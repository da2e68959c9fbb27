/** docs/calls.md: each verb by the example that is recorded of it, as a call of the client and of an orchestrator. */
import { format } from "prettier";
import { operationExamples } from "../../adapters/rest/reference/examples.ts";
import { pathFields, verbs, type Verb } from "./router-verbs.ts";

const head = `# Every call by example

Each verb with an input that a server took, as the [client](client.md) and as an [orchestrator](library.md) in your own process have it; what comes back is in the API reference at \`/docs\` of a server, and
[rest.md](rest.md) has the paths. The page is written from the router (\`npm run generate\`), and the tests compile it.
`;

/** docs/calls.md. */
export async function renderCallDocs(): Promise<string> {
  const groups = [...new Set(verbs.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const inside = verbs.filter((verb) => verb.group === group);
    const body = inside.map((verb) => `// ${verb.rest.summary}.\n${callsOf(verb).join("\n")}`).join("\n\n");
    const code = `import type { Caller, Orchestrator } from "fleetwright";
import type { Client } from "fleetwright/client";

export async function ${group}(client: Client, orchestrator: Orchestrator, caller: Caller) {
${body}
}`;
    return `\n## ${group}\n\n\`\`\`ts\n${code}\n\`\`\`\n`;
  });
  return format(head + sections.join(""), { parser: "markdown", printWidth: 110 });
}

function callsOf(verb: Verb): string[] {
  const { parameters, body } = operationExamples[verb.permission] ?? {};
  const input = { ...parameters, ...(body as object | undefined) };
  const calls = [`orchestrator.${methodOf(verb)}(${["caller", ...objectOf(input)].join(", ")})`];
  if (verb.byHand === undefined)
    calls.unshift(`client.${verb.group}.${verb.name}(${argumentsOf(verb, input)})`);
  if (!verb.isStream) return calls.map((call) => `await ${call};`);
  return calls.map((call) => `for await (const item of ${call}) console.log(item);`);
}

/** What a call of the client takes of an input. */
function argumentsOf(verb: Verb, input: Readonly<Record<string, unknown>>): string {
  const [first] = pathFields(verb);
  if (first === undefined) return objectOf(input).join("");
  const { [first]: id, ...rest } = input;
  return [JSON.stringify(id), ...objectOf(rest)].join(", ");
}

function objectOf(input: object): string[] {
  return Object.keys(input).length === 0 ? [] : [JSON.stringify(input)];
}

/** The one line of glue names the method that it calls. */
function methodOf({ procedure, permission }: Verb): string {
  const { resolver } = procedure._def as unknown as { resolver: () => unknown };
  const method = /ctx\.orchestrator\.([\w.]+)\(/.exec(resolver.toString())?.[1];
  if (method === undefined) throw new Error(`${permission} calls no method of an orchestrator.`);
  return method;
}
