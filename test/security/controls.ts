/** The controls of docs/security.md, in its order, and the tests that show each: a file, and words of it that say which. */
export const controls: readonly (readonly [
  name: string,
  shownBy: readonly (readonly [file: string, words: string])[],
])[] = [
  [
    "Default deny",
    [
      [
        "test/adapters/trpc/required-permissions.test.ts",
        "a router is refused in which a procedure has no permission, or that of another",
      ],
      [
        "test/adapters/access-matrix.test.ts",
        "every procedure has a permission, and every permission a procedure",
      ],
      ["test/adapters/permission-first.test.ts", "over REST, of %s"],
      ["test/access/faces.test.ts", "refuses %s, for every verb and before anything else"],
    ],
  ],
  [
    "An approved agent is hostile",
    [
      ["test/transport/hostile-agents.test.ts", "stalls nobody with %s"],
      [
        "test/operations/dispatch.test.ts",
        "is cut off for a result of another agent's operation, which stays as it was, and it is written down",
      ],
      ["test/wire/hostile-messages.test.ts", "there is one of each type of message, and of nothing else"],
      ["test/agents/strangers.test.ts", "keeps nobody else out, and gets none of theirs back"],
    ],
  ],
  [
    "Strict input",
    [
      ["test/security/bad-input.test.ts", "nothing was written and nothing unexpected was logged"],
      ["test/security/bad-input-cases.ts", "20,000 levels"],
      ["test/fuzz/surface.test.ts", "made up from the OpenAPI description"],
      ["test/fuzz/parsers.test.ts", "for %s is read or refused"],
    ],
  ],
  [
    "Sign-in",
    [
      ["test/access/sign-in.test.ts", "uses a challenge up at the first answer, right or wrong"],
      ["test/access/sign-in.test.ts", "stores no token: the storage holds only its hash"],
      [
        "test/access/sign-in.test.ts",
        "ends at sign-out, when the operator is removed, and when the role changes",
      ],
      [
        "test/access/limits.test.ts",
        "by its owner goes on while a stranger elsewhere signs wrongly for the same key",
      ],
      [
        "test/security/signatures.test.ts",
        "every text that is signed begins with a purpose of its own, and none with another's",
      ],
      ["test/security/rogue-server.test.ts", "refuses every other, before it looks at anything else"],
      ["test/security/late-bodies.test.ts", "a change whose caller %s before its end came is refused"],
      ["test/adapters/event-stream.test.ts", "ends when the operator signs out"],
      ["test/terminals/terminal-access.test.ts", "a terminal ends with who opened it"],
    ],
  ],
  [
    "Browsers",
    [
      ["test/adapters/h3/connections.test.ts", "hosts and web pages"],
      ["test/adapters/rest/pages/reference.test.ts", "shows whatever a description says as text"],
      ["test/adapters/permission-first.test.ts", "no JSON by its type"],
    ],
  ],
  [
    "Secrets",
    [
      ["test/secrets/key-ring.test.ts", "goes on wherever the process was killed, and loses nothing"],
      ["test/secrets/key-ring.test.ts", "%s does not open, and the others do"],
      [
        "test/secrets/deliveries.test.ts",
        "holds the secret sealed to it, for one operation, and to nobody else",
      ],
      ["test/secret-format/redactor.test.ts", "takes a secret out %s"],
      ["test/adapters/h3/exposure.test.ts", "a secret over plain HTTP from another machine"],
      [
        "test/e2e/secrets.test.ts",
        "a secret is in no file, log, event and answer after it was planned, applied, changed, checked and backed up",
      ],
    ],
  ],
  [
    "Enrolment tokens",
    [
      [
        "test/enrolment-tokens/admission.test.ts",
        "lets one of a hundred in that come at once, and the others wait",
      ],
      ["test/enrolment-tokens/admission.test.ts", "an operator has rejected the agent, or removed it then"],
      [
        "test/enrolment-tokens/enrolment-tokens.test.ts",
        "are nowhere but in the answer: not in the storage, an event, an audit entry or the answer to a repetition",
      ],
      [
        "test/wire/enrolment-token.test.ts",
        "is not sent to an orchestrator that proves another key than the pinned one",
      ],
      [
        "test/e2e/enrolment.test.ts",
        "a token for two machines approves and tags two, also over a kill of the server, and no third",
      ],
    ],
  ],
  [
    "Requests of our own",
    [
      [
        "test/notifications/outbound/refused-addresses.test.ts",
        "is looked up once, and what was checked is what is connected to",
      ],
      ["test/notifications/outbound/hostile-servers.test.ts", "redirects (%d) is not followed"],
    ],
  ],
  [
    "Audit",
    [
      [
        "test/adapters/audited-calls.test.ts",
        "every mutation, and who reads a recording, leaves an event with the id of its request",
      ],
      [
        "test/adapters/access-matrix.test.ts",
        "a refusal for want of a right is in the audit log, with who, what and from where",
      ],
      ["test/access/limits.test.ts", "operator.signInRefused"],
      [
        "test/faults/audit-files.test.ts",
        "whoever tampers with the files is found out at the first event that does not fit",
      ],
      ["test/faults/audit-tail.test.ts", "is told as such, not as a failure"],
      ["test/audit/any-sequence.test.ts", "any sequence of events, prunes at once and kills verifies"],
      ["test/audit/pruning.test.ts", "of several processes on one storage never move the anchor back"],
      [
        "test/audit/head.test.ts",
        "shows that the log is another, or that its end is missing, although each of them is whole",
      ],
      ["test/audit/self-check.test.ts", "finds an old event that was changed after it was verified"],
      [
        "test/terminals/transcript-read.test.ts",
        "is in the audit log before its first byte: who, from where, whose, on which machine",
      ],
    ],
  ],
  [
    "Floods",
    [
      ["test/faults/attacks.test.ts", "s of all attacks at once hold nobody up, and lose nothing"],
      ["test/adapters/h3/slow-readers.test.ts", "that reads slowly and steadily gets everything"],
      ["test/adapters/h3/app.test.ts", "a batch of 20 is answered, of 21 refused"],
      ["test/adapters/h3/connections.test.ts", "a client that never comes to the end of its request"],
      ["test/security/pipelined.test.ts", "requests sent ahead by those who don't read cost bounded memory"],
    ],
  ],
  [
    "Files and addresses",
    [
      ["test/storage/file-storage.test.ts", "folders are for their owner alone, and so are files"],
      ["test/agent/durable-file.test.ts", "makes folders that nobody else may enter"],
      ["test/adapters/h3/serve.test.ts", "at %j it needs TLS"],
      [
        "test/adapters/cli/secrets.test.ts",
        "is a file that its user alone reads, and keeps the old key until it is retired",
      ],
    ],
  ],
];
