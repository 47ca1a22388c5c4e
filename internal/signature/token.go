package signature

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Token is an OIDC identity token (a JSON Web Token). Its signature is not verified: the
// certificate authority does that.
type Token struct {
	// Raw is the token itself, which is a secret.
	Raw string
	// Subject is the identity that Fulcio certifies: the verified email address, or the subject.
	Subject string
	// Expires is when the token expires.
	Expires time.Time
}

// maxToken limits the bytes of a token.
const maxToken = 64 << 10

// ParseToken parses a token. An error contains no part of the token.
func ParseToken(raw string) (Token, error) {
	raw = strings.TrimSpace(raw)
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || len(raw) > maxToken {
		return Token{}, errors.New("expected a JSON Web Token")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Subject  string  `json:"sub"`
		Expires  float64 `json:"exp"`
		Email    string  `json:"email"`
		Verified any     `json:"email_verified"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return Token{}, errors.New("expected a JSON Web Token with claims in JSON")
	}
	t := Token{Raw: raw, Subject: claims.Subject, Expires: time.Unix(int64(claims.Expires), 0)}
	if claims.Email != "" {
		if claims.Verified != true && claims.Verified != "true" {
			return Token{}, fmt.Errorf("the email address of the token, %q, is not verified", claims.Email)
		}
		t.Subject = claims.Email
	}
	if t.Subject == "" {
		return Token{}, errors.New("the token has neither a subject nor an email address")
	}
	return t, nil
}

// CheckTime returns an error if the token has expired at a time.
func (t Token) CheckTime(now time.Time) error {
	if !now.Before(t.Expires) {
		return fmt.Errorf("the token of %q expired at %s", t.Subject, t.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}
