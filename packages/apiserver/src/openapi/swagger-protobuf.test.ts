import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { WireCursor } from '../codec/wire-cursor.ts';
import { swaggerDefinitionPieces, swaggerHead, swaggerPathPiece } from './swagger-protobuf.ts';

type Part = readonly [field: number, value: string | number | readonly Part[]];

/** Returns the fields of a message; those at the given paths ("9.1.2") are messages too, the rest is text. */
function parts(bytes: Uint8Array, messages: readonly string[], at = ''): Part[] {
  const all: Part[] = [];
  for (const cursor = new WireCursor(bytes); cursor.at < bytes.length; ) {
    const tag = cursor.varint();
    const field = Math.floor(tag / 8);
    all.push([
      field,
      part(cursor, tag % 8, (inner) => {
        const path = `${at}${field}`;
        return messages.includes(path) ? parts(inner, messages, `${path}.`) : Buffer.from(inner).toString();
      }),
    ]);
  }
  return all;
}

function part(cursor: WireCursor, type: number, read: (bytes: Uint8Array) => Part[1]): Part[1] {
  if (type === 1) return cursor.double();
  if (type !== 2) return cursor.varint();
  const end = cursor.end();
  const inner = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return read(inner);
}

describe('a Swagger document in protobuf', () => {
  it('begins with its version and title', () => {
    const head = parts(swaggerHead({ title: 'T', version: 'v1' }), ['2']);
    expect(head).toEqual([
      [1, '2.0'],
      [
        2,
        [
          [1, 'T'],
          [2, 'v1'],
        ],
      ],
    ]);
  });

  it('names each definition and writes all words of its schema', () => {
    const schema = {
      description: 'd',
      type: 'object',
      format: 'f',
      maximum: 1.5,
      minLength: 2,
      uniqueItems: true,
      exclusiveMinimum: false,
      required: ['a', 'b'],
      enum: [1],
      properties: { a: { $ref: '#/definitions/x' } },
      items: { type: 'string' },
      additionalProperties: { type: 'integer' },
      'x-kubernetes-list-type': 'map',
    };
    const messages = [
      '9',
      '9.1',
      '9.1.2',
      '20',
      '21',
      '21.1',
      '21.1.22',
      '22',
      '23',
      '23.1',
      '23.1.22',
      '25',
      '25.1',
      '25.1.2',
    ]
      .map((path) => (path.startsWith('9') ? path : `9.1.2.${path}`))
      .concat('9.1.2.31', '9.1.2.31.2');
    expect(parts(Buffer.concat(runWhole(swaggerDefinitionPieces('n', schema))), messages)).toEqual([
      [
        9,
        [
          [
            1,
            [
              [1, 'n'],
              [
                2,
                [
                  [2, 'f'],
                  [4, 'd'],
                  [7, 1.5],
                  [12, 2],
                  [16, 1],
                  [19, 'a'],
                  [19, 'b'],
                  [20, [[2, '1\n']]],
                  [21, [[1, [[22, [[1, 'integer']]]]]]],
                  [22, [[1, 'object']]],
                  [23, [[1, [[22, [[1, 'string']]]]]]],
                  [
                    25,
                    [
                      [
                        1,
                        [
                          [1, 'a'],
                          [2, [[1, '#/definitions/x']]],
                        ],
                      ],
                    ],
                  ],
                  [
                    31,
                    [
                      [1, 'x-kubernetes-list-type'],
                      [2, [[2, '"map"\n']]],
                    ],
                  ],
                ],
              ],
            ],
          ],
        ],
      ],
    ]);
  });

  it('puts parameters where their place says', () => {
    const parameters = [
      { name: 'body', in: 'body', required: true, schema: { type: 'object' } },
      { name: 'dryRun', in: 'query', type: 'string', uniqueItems: true },
      { name: 'name', in: 'path', required: true, type: 'string' },
    ];
    const at = '8.2.2.8';
    const messages = ['8', '8.2', '8.2.2', at, `${at}.8`, `${at}.8.1`, `${at}.8.1.1`, `${at}.8.1.1.5`]
      .concat([
        `${at}.8.1.1.5.22`,
        `${at}.8.1.2`,
        `${at}.8.1.2.3`,
        `${at}.8.1.2.4`,
        `${at}.9`,
        `${at}.9.1`,
        `${at}.9.1.2`,
      ])
      .concat([`${at}.9.1.2.1`, `${at}.13`, `${at}.13.2`]);
    const patch = { parameters, responses: { 200: { description: 'OK' } }, 'x-kubernetes-action': 'patch' };
    expect(parts(swaggerPathPiece('/p', { patch }), messages)).toEqual([
      [
        8,
        [
          [
            2,
            [
              [1, '/p'],
              [
                2,
                [
                  [
                    8,
                    [
                      [
                        8,
                        [
                          [
                            1,
                            [
                              [
                                1,
                                [
                                  [2, 'body'],
                                  [3, 'body'],
                                  [4, 1],
                                  [5, [[22, [[1, 'object']]]]],
                                ],
                              ],
                            ],
                          ],
                        ],
                      ],
                      [
                        8,
                        [
                          [
                            1,
                            [
                              [
                                2,
                                [
                                  [
                                    3,
                                    [
                                      [2, 'query'],
                                      [4, 'dryRun'],
                                      [6, 'string'],
                                      [20, 1],
                                    ],
                                  ],
                                ],
                              ],
                            ],
                          ],
                        ],
                      ],
                      [
                        8,
                        [
                          [
                            1,
                            [
                              [
                                2,
                                [
                                  [
                                    4,
                                    [
                                      [1, 1],
                                      [2, 'path'],
                                      [4, 'name'],
                                      [5, 'string'],
                                    ],
                                  ],
                                ],
                              ],
                            ],
                          ],
                        ],
                      ],
                      [
                        9,
                        [
                          [
                            1,
                            [
                              [1, '200'],
                              [2, [[1, [[1, 'OK']]]]],
                            ],
                          ],
                        ],
                      ],
                      [
                        13,
                        [
                          [1, 'x-kubernetes-action'],
                          [2, [[2, '"patch"\n']]],
                        ],
                      ],
                    ],
                  ],
                ],
              ],
            ],
          ],
        ],
      ],
    ]);
  });
});
