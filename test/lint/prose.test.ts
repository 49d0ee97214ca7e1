// Checks what a machine can of how texts read (CONTRIBUTING.md has the rules): comments begin with their subject, sentences of pages end,
// log lines of our own are in lower case.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const listed = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((name) => name !== '' && !name.includes('/generated/'));

/** Beginnings that put the object, or a bare pronoun, in place of the subject. */
const inverted = /^(?:Of|Whom|(?:By|For|To|In) whom|Those|So many|From so|Before those|Taken)\b/;

/** Returns the first line of each comment. */
function firstLines(source: string): readonly string[] {
  const lines = source.split('\n').map((line) => line.trim());
  return lines.flatMap((line, at) => {
    const before = lines[at - 1] ?? '';
    if (line.startsWith('//')) return before.startsWith('//') ? [] : [line.replace(/^\/\/+\s*/, '')];
    if (line.startsWith('/**')) return [(line === '/**' ? (lines[at + 1] ?? '') : line).replace(/^\/?\*+\s*/, '')];
    return [];
  });
}

const maxWords = 60;

/** Returns the sentences of a page outside programs and headings. A row of a table and an item of a list end one. */
function sentences(page: string): readonly string[] {
  const prose = page.replaceAll(/^\s*```[\s\S]*?^\s*```/gm, '\n\n').replaceAll(/^#.*$/gm, '\n');
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s)/)
    .flatMap((paragraph) => (paragraph.trimStart().startsWith('|') ? [] : paragraph.split(/(?<=[.:;?!])\s+/)))
    .filter((sentence) => sentence.trim() !== '');
}

/** Texts that client-go and controller-runtime log, so that whoever searches for them finds them here too. */
const copied =
  /^(?:Config not found|Warning: |Unable to |Server rejected event|Starting workers|All workers finished|Error syncing)/;
const logged = /\blog(?:ger)?\??\.(?:debug|info|warn|error)\(\s*['"`]([A-Z][a-z].*?)['"`]/g;

describe('prose', () => {
  it('is judged by these rules', () => {
    const comments =
      '// Of what is left.\n// Those too.\nf();\n/** Of all. */\n/**\n * Whom to ask.\n */\n// Most of it is.';
    expect(firstLines(comments).filter((line) => inverted.test(line))).toEqual([
      'Of what is left.',
      'Of all. */',
      'Whom to ask.',
    ]);
    expect(sentences('# A page\n\nOne. Two\ngoes on.\n- three\n\n```ts\ncode();\n```\n| four |\n')).toEqual([
      'One.',
      'Two\ngoes on.',
      '- three',
    ]);
    const calls = ["logger.warn('Lost it')", "logger.warn('Unable to say')", "logger.info('lost it')"];
    expect(calls.filter((call) => [...call.matchAll(logged)].some(([, text = '']) => !copied.test(text)))).toEqual([
      calls[0],
    ]);
  });

  it('of comments begins with its subject', () => {
    const found = listed('packages/*/src/*.ts').flatMap((file) =>
      firstLines(textOf(file))
        .filter((line) => inverted.test(line))
        .map((line) => `${file}: ${line}`),
    );
    expect(found).toEqual([]);
  }, 60_000);

  it(`of pages has no sentence of more than ${maxWords} words`, () => {
    const found = listed('*.md', ':!.changeset').flatMap((file) =>
      sentences(textOf(file))
        .filter((sentence) => sentence.split(/\s+/).length > maxWords)
        .map((sentence) => `${file}: ${sentence}`),
    );
    expect(found).toEqual([]);
  });

  it('of log lines is in lower case', () => {
    const found = listed('packages/*/src/*.ts', ':!*.test.ts').flatMap((file) =>
      [...textOf(file).matchAll(logged)].flatMap(([, text = '']) => (copied.test(text) ? [] : [`${file}: ${text}`])),
    );
    expect(found).toEqual([]);
  }, 60_000);
});
