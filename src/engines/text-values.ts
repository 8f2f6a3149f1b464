/* Texts that every engine reads alike when it converts the values of a source. */

/** Spellings of true and false, in lower case. */
export const TRUE_WORDS: readonly string[] = ['true', 't', 'yes', 'y', '1']
export const FALSE_WORDS: readonly string[] = ['false', 'f', 'no', 'n', '0']

/** Characters of which a text may consist that is no identifier: Unicode's separators, and white-space controls. */
export const SEPARATORS =
  '\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
