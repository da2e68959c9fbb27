/** Puts recorded calls into the OpenAPI description. */

/** One call over REST and its answer. */
export interface OperationExample {
  /** Values of the path's parameters and of the query's. */
  parameters?: Readonly<Record<string, unknown>>;
  /** The JSON that was sent. */
  body?: unknown;
  status: number;
  /** The JSON that came back; of a stream its first item. */
  answer?: unknown;
}

/** The parts of an operation that hold examples. */
interface Operation {
  parameters?: object[];
  requestBody?: object;
  responses: Record<string, object>;
}

/** Adds a recorded call to the description of its operation. */
export function addExample(operation: Operation, example: OperationExample): void {
  for (const parameter of (operation.parameters as { name: string; example?: unknown }[] | undefined) ?? []) {
    const value = example.parameters?.[parameter.name];
    if (value !== undefined) parameter.example = value;
  }
  if (example.body !== undefined) setExample(operation.requestBody, example.body);
  if (example.answer !== undefined) setExample(operation.responses[example.status], example.answer);
}

function setExample(holder: object | undefined, example: unknown): void {
  const { content = {} } = (holder ?? {}) as { content?: Record<string, object> };
  for (const media of Object.values(content)) Object.assign(media, { example });
}
