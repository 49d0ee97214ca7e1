// aggregateTexts joins the texts of several errors as Go does. Used where an answer shows errors that name no field.
import { maxToldErrors } from './field-error.ts';

/**
 * Joins the different texts in brackets, "[a, b]". A single text stays unchanged; no text gives "". Only the first 100
 * are shown, then a count of the others. Source: utilerrors.Aggregate.Error.
 */
export function aggregateTexts(texts: Iterable<string>): string {
  const different = [...new Set(texts)];
  const untold = different.length - maxToldErrors;
  if (untold > 0) different.splice(maxToldErrors, untold, `and ${untold} more error${untold === 1 ? '' : 's'}`);
  return different.length > 1 ? `[${different.join(', ')}]` : (different[0] ?? '');
}
