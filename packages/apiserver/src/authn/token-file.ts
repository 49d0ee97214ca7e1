// Reads the CSV of --token-auth-file: token,user,uid,"group1,group2". Source: tokenfile.NewCSV, encoding/csv.
import type { UserInfo } from '../registry/definition/request-context.ts';

/** Returns users by token. Lines with an empty token are skipped. Throws TypeError for a malformed line. */
export function parseTokenFile(text: string, fileName: string): ReadonlyMap<string, UserInfo> {
  const users = new Map<string, UserInfo>();
  for (const record of parseCsv(text, fileName)) {
    const [token = '', name = '', uid = '', groups = ''] = record;
    if (record.length < 3) {
      throw new TypeError(
        `token file '${fileName}' must have at least 3 columns (token, user name, user uid), found ${record.length}`,
      );
    }
    if (token === '') continue;
    const names = groups === '' ? [] : groups.split(',').map((group) => group.trim());
    users.set(token, { name, uid, groups: names });
  }
  return users;
}

/**
 * Splits lines into fields; `"` quotes a field, `""` in it is one quote. Empty lines and lines of spaces are skipped.
 */
function parseCsv(text: string, fileName: string): readonly string[][] {
  const records: string[][] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() !== '') records.push(parseRecord(line, `${fileName}, line ${index + 1}`));
  }
  return records;
}

const quotedField = /^\s*"((?:[^"]|"")*)"(?:,|$)/;
const bareField = /^([^",]*)(?:,|$)/;

function parseRecord(line: string, where: string): string[] {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = quotedField.exec(rest);
    const match = quoted ?? bareField.exec(rest);
    if (match === null) throw new TypeError(`token file '${where}': bare " in a field`);
    fields.push(quoted === null ? (match[1] ?? '') : (match[1] ?? '').replaceAll('""', '"'));
    rest = rest.slice(match[0].length);
    if (!match[0].endsWith(',')) return fields;
  }
}
