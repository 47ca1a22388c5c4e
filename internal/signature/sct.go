package signature

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"

	"golang.org/x/crypto/cryptobyte"
	tags "golang.org/x/crypto/cryptobyte/asn1"
)

// sctList is the extension of a certificate with the signed certificate timestamps (SCTs) of certificate transparency logs
// (RFC 6962, section 3.3).
var sctList = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// verifyLogged returns an error unless c has an SCT of the certificate transparency log with this key.
func verifyLogged(c, issuer *x509.Certificate, log *LogKey) error {
	var list []byte
	for _, e := range c.Extensions {
		if e.Id.Equal(sctList) {
			if rest, err := asn1.Unmarshal(e.Value, &list); err != nil || len(rest) > 0 {
				return errors.New("the signed certificate timestamps (SCT) of the certificate are invalid")
			}
		}
	}
	if list == nil {
		return errors.New("the certificate has no signed certificate timestamp (SCT)")
	}
	tbs, ok := withoutTimestamps(c.RawTBSCertificate)
	all := cryptobyte.String(list)
	var scts cryptobyte.String
	if !ok || !all.ReadUint16LengthPrefixed(&scts) || !all.Empty() {
		return errors.New("the signed certificate timestamps (SCT) of the certificate are invalid")
	}
	for !scts.Empty() {
		var sct cryptobyte.String
		if !scts.ReadUint16LengthPrefixed(&sct) {
			return errors.New("the signed certificate timestamps (SCT) of the certificate are invalid")
		}
		if isTimestamp(sct, tbs, issuer, log) {
			return nil
		}
	}
	return errors.New("the certificate has no valid signed certificate timestamp (SCT) of the trusted certificate transparency log")
}

// isTimestamp reports whether the log signed a timestamp of a certificate that issuer issued. tbs
// is the certificate without signature and timestamps (RFC 6962, section 3.2).
func isTimestamp(sct cryptobyte.String, tbs []byte, issuer *x509.Certificate, log *LogKey) bool {
	var version uint8
	var id, at []byte
	var extensions, value cryptobyte.String
	var algorithms uint16 // The key determines the algorithm.
	if !sct.ReadUint8(&version) || version != 0 || !sct.ReadBytes(&id, sha256.Size) || !sct.ReadBytes(&at, 8) ||
		!sct.ReadUint16LengthPrefixed(&extensions) || !sct.ReadUint16(&algorithms) || !sct.ReadUint16LengthPrefixed(&value) || !sct.Empty() {
		return false
	}
	const certificateTimestamp, precertificate = 0, 1
	key := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	var b cryptobyte.Builder
	b.AddUint8(version)
	b.AddUint8(certificateTimestamp)
	b.AddBytes(at)
	b.AddUint16(precertificate)
	b.AddBytes(key[:])
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(tbs) })
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(extensions) })
	signed, err := b.Bytes()
	return err == nil && bytes.Equal(log.id[:], id) && log.hasSigned(signed, value)
}

// withoutTimestamps returns a TBSCertificate without the extension sctList.
func withoutTimestamps(raw []byte) ([]byte, bool) {
	extensionsTag := tags.Tag(3).Constructed().ContextSpecific()
	in := cryptobyte.String(raw)
	var tbs cryptobyte.String
	if !in.ReadASN1(&tbs, tags.SEQUENCE) {
		return nil, false
	}
	var b cryptobyte.Builder
	ok := true
	b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) {
		for ok && !tbs.Empty() {
			var element, outer, list cryptobyte.String
			var tag tags.Tag
			if !tbs.ReadAnyASN1Element(&element, &tag) {
				ok = false
				return
			}
			if tag != extensionsTag {
				b.AddBytes(element)
				continue
			}
			if !element.ReadASN1(&outer, extensionsTag) || !outer.ReadASN1(&list, tags.SEQUENCE) {
				ok = false
				return
			}
			b.AddASN1(extensionsTag, func(b *cryptobyte.Builder) {
				b.AddASN1(tags.SEQUENCE, func(b *cryptobyte.Builder) { ok = copyExtensions(b, list) })
			})
		}
	})
	out, err := b.Bytes()
	return out, ok && err == nil
}

// copyExtensions adds a list of extensions except sctList to b.
func copyExtensions(b *cryptobyte.Builder, list cryptobyte.String) bool {
	for !list.Empty() {
		var element, inner cryptobyte.String
		var tag tags.Tag
		var id asn1.ObjectIdentifier
		if !list.ReadAnyASN1Element(&element, &tag) {
			return false
		}
		copied := element
		if !copied.ReadASN1(&inner, tags.SEQUENCE) || !inner.ReadASN1ObjectIdentifier(&id) {
			return false
		}
		if !id.Equal(sctList) {
			b.AddBytes(element)
		}
	}
	return true
}
