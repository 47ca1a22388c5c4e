// Package sbom writes software bills of materials of packages: SPDX 2.3 in JSON.
package sbom
