// Package fetch owns every connection to an address that somebody else chose: the images of
// providers and imports, the APIs of providers, the receivers of webhooks. It decides which
// addresses may be dialled, how long and how much may be read, and what the bytes that came back
// are. It knows nothing of jobs, records or stores: it gives bytes to a writer and says in a typed
// error why it could not.
//
// The guard sits where the connection is made. A name is resolved once, and the very address that
// is dialled is judged, so a name that answers differently the second time gains nothing. Every hop
// of a redirect passes the same checks as the first URL.
//
// Kept as images are PNG (and APNG), JPEG, GIF, WebP, AVIF, HEIC and BMP: formats whose structure
// says whether the file is whole. TIFF, ICO and JPEG XL are refused as source_not_image: browsers
// and generators hardly use the first two, and a JPEG XL codestream cannot be proven whole without
// decoding it. SVG, HTML and every other text are never kept: they can carry scripts.
package fetch
